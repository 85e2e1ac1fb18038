// Looks and behaviour of the report: one style sheet for light and dark, and the script that shows values under the
// pointer. Without the script nothing is lost but that.
#include "recipe/report_parts.h"

namespace ingot::recipe {

const char* const kReportLogo =
    R"(<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 40 28" width="40" height="28">)"
    R"(<path d="M9 7h22l-3-5H12z" fill="#f0b27a"/><path d="M9 7h22l8 19H1z" fill="#c8621b"/>)"
    R"(<path d="M9 7h11v19H1z" fill="#d9772f"/></svg>)";

const char* const kReportStyle = R"css(
:root{--bg:#f6f4f0;--card:#fff;--ink:#221e1a;--soft:#6d655c;--line:#e6e0d8;--grid:#ece7e0;--copper:#c0580f;--blue:#4f74a8;
--good:31,138,112;--bad:201,52,44;--shadow:0 1px 2px rgba(60,40,20,.06),0 6px 20px rgba(60,40,20,.05);--code:#faf8f5;
--m0:#c0580f;--m1:#e39a55;--m2:#f0c99b;--m3:#4f74a8;--m4:#8ba7cd;--m5:#7a6fa8;--m6:#1f8a70;--m7:#9db8ae;--m8:#b5aca1}
@media (prefers-color-scheme:dark){:root{--bg:#161412;--card:#201d1a;--ink:#ece6df;--soft:#a1978b;--line:#37322d;--grid:#2e2a26;
--copper:#f0924a;--blue:#8fb4e8;--good:62,180,147;--bad:240,96,86;--shadow:none;--code:#191715;
--m0:#f0924a;--m1:#b86d35;--m2:#7e4d2a;--m3:#8fb4e8;--m4:#5a7cab;--m5:#a596d8;--m6:#3eb493;--m7:#55776b;--m8:#6d655c}}
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%}
body{margin:0;background:var(--bg);color:var(--ink);font:16px/1.5 Inter,system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif;
font-variant-numeric:tabular-nums}
main{max-width:1120px;margin:0 auto;padding:36px 20px 8px}
header{margin:0 0 28px}
.brand{display:flex;align-items:center;gap:10px;color:var(--soft);font-size:14px;letter-spacing:.02em}
.brand svg{width:30px;height:auto}
h1{font-size:clamp(34px,6vw,52px);line-height:1.1;letter-spacing:-.025em;margin:14px 0 6px;font-weight:700;overflow-wrap:anywhere}
h2{font-size:21px;letter-spacing:-.01em;margin:0 0 4px;font-weight:650}
h3{font-size:15px;margin:0 0 6px;font-weight:650}
.lead{font-size:18px;color:var(--soft);margin:0;max-width:60em}
.note{color:var(--soft);margin:0 0 14px;font-size:15px;max-width:52em}
.status{display:inline-block;margin:12px 0 0;padding:3px 12px;border-radius:99px;background:rgba(var(--bad),.12);color:rgb(var(--bad));font-size:14px}
.good{color:rgb(var(--good))}
.verdict{display:grid;grid-template-columns:repeat(auto-fit,minmax(190px,1fr));gap:14px;margin:26px 0 0}
.verdict div{background:var(--card);border-radius:14px;padding:16px 20px 14px;box-shadow:var(--shadow);border:1px solid var(--line)}
.verdict b{display:block;font-size:30px;line-height:1.15;letter-spacing:-.02em;font-weight:700}
.verdict div:first-child b{color:var(--copper)}
.verdict span{color:var(--soft);font-size:14px;line-height:1.35;display:block;margin-top:3px}
section{background:var(--card);border:1px solid var(--line);border-radius:16px;padding:22px 24px 20px;margin:0 0 20px;box-shadow:var(--shadow)}
.charts{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,320px),1fr));gap:14px 32px}
.charts>*{max-width:520px}
figure{margin:0}
.chart{position:relative;margin-top:8px}
.chart figcaption{display:flex;flex-wrap:wrap;gap:2px 16px;align-items:center;font-size:14px}
.chart figcaption b{font-weight:650}
.key{color:var(--soft);display:inline-flex;align-items:center;gap:6px;font-size:13px}
.key i{width:16px;height:3px;border-radius:2px;background:currentColor}
.key.train i{background:var(--blue)}.key.test i{background:var(--copper)}
svg{display:block;width:100%;height:auto;overflow:visible}
svg text{font-size:12px;fill:var(--soft);font-family:inherit}
svg .left{text-anchor:end}svg .middle{text-anchor:middle}svg .right{text-anchor:end}
svg .halo{fill:var(--ink);font-weight:600;paint-order:stroke;stroke:var(--card);stroke-width:4px;stroke-linejoin:round}
.grid{stroke:var(--grid)}.axis{stroke:var(--line)}.best{stroke:var(--soft);stroke-dasharray:2 4;opacity:.7}
.diagonal{stroke:var(--copper);stroke-width:1.5}
.point{fill:var(--blue);fill-opacity:.55}
.curve{fill:none;stroke-width:2.2;stroke-linejoin:round;stroke-linecap:round}
.curve.train{stroke:var(--blue)}.curve.test{stroke:var(--copper)}.curve.plain{stroke:var(--soft)}
.band{fill-opacity:.18}.band.train{fill:var(--blue)}.band.test{fill:var(--copper)}.band.plain{fill:var(--soft)}
.dot.train{fill:var(--blue)}.dot.test{fill:var(--copper)}.dot.plain{fill:var(--soft)}
.ring{fill:var(--card);stroke-width:2.4}.ring.train{stroke:var(--blue)}.ring.test{stroke:var(--copper)}
.pointer{visibility:hidden;pointer-events:none}.cross{stroke:var(--soft);opacity:.5}
.tip{position:absolute;pointer-events:none;background:var(--ink);color:var(--card);font-size:13px;line-height:1.4;padding:5px 10px;border-radius:8px;
white-space:pre;top:34px;display:none;z-index:2}
details{border-top:1px solid var(--line);margin-top:14px}
section>details:last-child{margin-bottom:-8px}
summary{cursor:pointer;padding:10px 0;color:var(--soft);font-size:15px}
summary:hover{color:var(--ink)}
.scroll{overflow-x:auto;margin:0 -24px;padding:0 24px}
table{border-collapse:collapse;font-size:14px;width:100%}
th{font-weight:500;color:var(--soft);text-align:left;padding:6px 16px 6px 0;border-bottom:1px solid var(--line);white-space:nowrap}
td{padding:6px 16px 6px 0;border-bottom:1px solid var(--grid)}
tbody tr:last-child td{border-bottom:0}
.n{text-align:right;white-space:nowrap}
th:last-child,td:last-child{padding-right:0}
.gallery{display:grid;grid-template-columns:repeat(auto-fill,minmax(84px,1fr));gap:12px}
.gallery img{display:block;width:100%;height:auto;aspect-ratio:1;object-fit:contain;image-rendering:pixelated;border-radius:8px;background:#000}
.gallery figure{border-radius:12px;padding:5px;border:1px solid var(--line)}
.gallery figure.wrong{border-color:rgba(var(--bad),.75);background:rgba(var(--bad),.07)}
.gallery figcaption{display:flex;flex-wrap:wrap;gap:0 6px;align-items:baseline;font-size:13px;padding:4px 4px 1px;line-height:1.3}
.gallery figcaption b{font-size:15px;overflow-wrap:anywhere}
.gallery .wrong b{color:rgb(var(--bad))}
.gallery span{color:var(--soft)}
.gallery i{font-style:normal;color:var(--soft);margin-left:auto}
.film{display:block;margin:16px 0 0;image-rendering:pixelated;border-radius:8px;max-width:100%;height:auto}
.wide svg{min-width:900px;max-height:640px}.wide svg text{fill:#333}
.gallery.strip{grid-template-columns:repeat(12,minmax(48px,1fr));gap:6px;overflow-x:auto}.gallery.strip figure{border:0;padding:0}
.gallery.pairs{grid-template-columns:repeat(auto-fill,minmax(150px,1fr))}
.gallery.pairs div{display:grid;grid-template-columns:1fr 1fr;gap:4px}
.beside{display:grid;grid-template-columns:minmax(0,2fr) minmax(240px,1fr);gap:24px 48px;align-items:start}
.confusion{border-collapse:separate;border-spacing:2px;width:100%;font-size:14px;table-layout:auto}
.confusion th,.confusion td{border:0;padding:0 5px;height:38px;min-width:36px;text-align:center}
.confusion th[scope=row]{text-align:right;padding-right:8px;color:var(--ink);font-weight:600}
.confusion th[scope=col]{color:var(--ink);font-weight:600}
.confusion .corner{font-size:11px;line-height:1.25;font-weight:400;width:70px;text-align:right;padding-right:8px}
.confusion td{border-radius:6px;background:var(--code)}
.confusion td.right{background:rgba(var(--good),var(--s))}
.confusion td.wrong{background:rgba(var(--bad),var(--s));font-weight:600}
.confusion .recall{background:none;color:var(--soft);font-size:13px;padding-left:12px;white-space:nowrap}
.heat img{width:100%;max-width:560px;height:auto;image-rendering:pixelated;border:1px solid var(--line);border-radius:8px;margin-bottom:8px}
@media (prefers-color-scheme:dark){.heat img{filter:invert(.88)}}
ol.pairs{list-style:none;margin:0 0 18px;padding:0;font-size:15px}
ol.pairs li{display:flex;flex-wrap:wrap;gap:0 6px;padding:5px 0;border-bottom:1px solid var(--grid);overflow-wrap:anywhere}
ol.pairs li:last-child{border:0}
ol.pairs span{margin-left:auto;color:var(--soft);font-size:13px;white-space:nowrap}
pre{font:13px/1.55 ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;background:var(--code);border:1px solid var(--line);
border-radius:10px;padding:12px 16px;margin:0 0 14px;overflow:auto;max-height:520px}
.prose{white-space:pre-wrap;overflow-wrap:anywhere}
.command::before{content:"$ ";color:var(--copper)}
.toml .c{color:var(--soft)}.toml .h{color:var(--copper);font-weight:600}.toml .k{color:var(--blue)}
.texts details:first-child{border-top:0;margin-top:0}
.texts details{margin-top:0}
dl{display:grid;grid-template-columns:max-content 1fr;gap:4px 20px;margin:4px 0 12px;font-size:15px}
dt{color:var(--soft)}dd{margin:0;overflow-wrap:anywhere}
.profile .step{min-width:210px;max-width:340px;overflow-wrap:anywhere}
.profile em{font-style:normal;display:inline-block;color:var(--soft);font-size:12px;margin-left:8px}
.profile .bar{width:34%;min-width:110px}
.bar i{display:block;height:12px;border-radius:3px;background:var(--m4);min-width:2px}
.critical .bar i{background:var(--copper)}
.memory{display:flex;height:30px;border-radius:8px;overflow:hidden;gap:2px;margin:4px 0 12px}
.memory i{flex-basis:0;min-width:2px}
.keys{list-style:none;display:flex;flex-wrap:wrap;gap:6px 24px;padding:0;margin:0;font-size:14px;color:var(--soft)}
.keys li{display:flex;align-items:center;gap:8px}
.keys i{width:12px;height:12px;border-radius:3px}.keys b{color:var(--ink);font-weight:600}
.m0{background:var(--m0)}.m1{background:var(--m1)}.m2{background:var(--m2)}.m3{background:var(--m3)}.m4{background:var(--m4)}
.m5{background:var(--m5)}.m6{background:var(--m6)}.m7{background:var(--m7)}.m8{background:var(--m8)}
.plan img{max-width:none;background:#fff;border-radius:8px}
footer{max-width:1120px;margin:0 auto;padding:6px 20px 40px;color:var(--soft);font-size:13px}
@media (max-width:760px){main{padding:22px 12px 4px}section{padding:18px 16px 16px;border-radius:14px}.scroll{margin:0 -16px;padding:0 16px}
.beside{grid-template-columns:minmax(0,1fr)}.verdict{grid-template-columns:repeat(auto-fit,minmax(140px,1fr));gap:10px}.verdict b{font-size:24px}
.verdict div{padding:12px 14px}.gallery{grid-template-columns:repeat(auto-fill,minmax(68px,1fr));gap:8px}.profile .bar{min-width:70px}
.profile .step{min-width:150px}.confusion th,.confusion td{height:28px;min-width:26px;padding:0 2px;font-size:12px}.confusion .corner{width:44px;font-size:8px}
svg text{font-size:14px}}
@media print{body{background:#fff}section,.verdict div{box-shadow:none;break-inside:avoid}}
)css";

// Written without < and &, so that the page is XML as well.
const char* const kReportScript = R"js(
document.querySelectorAll('svg[data-hover]').forEach(function (svg) {
  var data = JSON.parse(svg.dataset.hover), names = svg.dataset.names.split('|'), group = svg.querySelector('.pointer');
  var line = group.querySelector('line'), dots = group.querySelectorAll('circle'), tip = document.createElement('div');
  tip.className = 'tip';
  svg.parentNode.appendChild(tip);
  function hide() { group.style.visibility = 'hidden'; tip.style.display = 'none'; }
  function show(event) {
    var box = svg.getBoundingClientRect(), wide = svg.viewBox.baseVal.width, at = (event.clientX - box.left) * wide / box.width;
    var best = data.x.reduce(function (b, x, i) { return Math.abs(data.x[b] - at) > Math.abs(x - at) ? i : b; }, 0), px = data.x[best];
    line.setAttribute('x1', px);
    line.setAttribute('x2', px);
    var text = svg.dataset.x + ' ' + data.l[best];
    data.s.forEach(function (s, k) {
      var y = s.y[best];
      dots[k].style.display = y === null ? 'none' : '';
      if (y !== null) { dots[k].setAttribute('cx', px); dots[k].setAttribute('cy', y); }
      text += '\n' + names[k] + '  ' + s.t[best];
    });
    tip.textContent = text;
    group.style.visibility = 'visible';
    tip.style.display = 'block';
    var left = px / wide * box.width, half = px > wide / 2;
    tip.style.left = half ? 'auto' : (left + 12) + 'px';
    tip.style.right = half ? (box.width - left + 12) + 'px' : 'auto';
  }
  svg.addEventListener('pointermove', show);
  svg.addEventListener('pointerdown', show);
  svg.addEventListener('pointerleave', hide);
});
)js";

}  // namespace ingot::recipe
