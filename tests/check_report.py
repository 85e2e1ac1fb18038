#!/usr/bin/env python3
"""check_report.py INGOT [PICTURES]: reports in a browser. Nothing on the console, nothing loaded from outside, readable at 400 and 1,400
pixels, in the light and in the dark: nothing sticks out, text has contrast and size. Screenshots go to the folder PICTURES."""
import base64
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

FLAGS = ("--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking --disable-component-update "
         "--disable-sync --disable-extensions --hide-scrollbars --remote-debugging-pipe").split()

# What a reader would stumble over, as a list of sentences.
LOOK = """(() => {
  const found = [], wide = document.documentElement.clientWidth;
  const name = e => e.tagName.toLowerCase() + (e.getAttribute('class') ? '.' + e.getAttribute('class') : '') + ' "' + e.textContent.trim().slice(0, 30) + '"';
  const parts = c => { const n = c.match(/[\\d.]+/g).map(Number); return [n[0], n[1], n[2], n.length > 3 ? n[3] : 1]; };
  const over = (top, below) => top.slice(0, 3).map((c, i) => c * top[3] + below[i] * (1 - top[3])).concat(1);
  const light = c => { const f = v => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; return 0.2126 * f(c[0]) + 0.7152 * f(c[1]) + 0.0722 * f(c[2]); };
  const ground = e => {
    const layers = [];
    for (let at = e; at; at = at.parentElement) layers.push(parts(getComputedStyle(at).backgroundColor));
    return layers.reverse().reduce((below, top) => over(top, below), [255, 255, 255, 1]);
  };
  const scrolls = e => { for (let at = e; at; at = at.parentElement) if (/auto|scroll|hidden/.test(getComputedStyle(at).overflowX) && at !== document.documentElement && at !== document.body) return true; return false; };
  if (document.documentElement.scrollWidth > wide) found.push(`the page is ${document.documentElement.scrollWidth} wide`);
  for (const e of document.body.querySelectorAll('*')) {
    if (e.closest('script, style, title, details:not([open]) > :not(summary)')) continue;
    const box = e.getBoundingClientRect(), style = getComputedStyle(e);
    if (box.width === 0 || box.height === 0 || style.visibility !== 'visible' || style.opacity === '0') continue;
    if (box.right > wide + 1 && !scrolls(e)) found.push(`${name(e)} ends at ${Math.round(box.right)}`);
    const own = [...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim());
    if (!own) continue;
    const svg = e.closest('svg'), scale = svg && e !== svg ? e.getBoundingClientRect().height / (e.getBBox ? Math.max(1, e.getBBox().height) : 1) : 1;
    const size = parseFloat(style.fontSize) * (svg ? Math.min(scale, 1) : 1);
    if (size < 7) found.push(`${name(e)} is ${size.toFixed(1)} pixels high`);
    const sheet = svg && svg.querySelector('rect[width="100%"]');  // a picture with a ground of its own
    const below = sheet ? parts(getComputedStyle(sheet).fill) : ground(e);
    const a = light(over(parts(svg ? style.fill : style.color), below)), b = light(below);
    const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (contrast < 3) found.push(`${name(e)} has a contrast of ${contrast.toFixed(1)}: ${svg ? style.fill : style.color} on ${below.map(Math.round)}`);
  }
  return {found: found.slice(0, 12), dark: light(ground(document.body)) < 0.2, height: document.documentElement.scrollHeight};
})()"""


class Browser:
    """Chromium behind its pipe: messages of JSON with a zero byte between."""

    def __init__(self, folder):
        to_read, to_write = os.pipe()
        from_read, from_write = os.pipe()

        def connect():
            os.dup2(to_read, 10), os.dup2(from_write, 11)
            os.dup2(10, 3), os.dup2(11, 4)

        program = shutil.which("chromium")
        self.process = subprocess.Popen([program, *FLAGS, f"--user-data-dir={folder}"], preexec_fn=connect, close_fds=False,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_read), os.close(from_write)
        self.write, self.read = os.fdopen(to_write, "wb"), os.fdopen(from_read, "rb")
        self.number, self.session, self.events = 0, None, []
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.ask(f"{domain}.enable")

    def message(self):
        text = b""
        while not text.endswith(b"\0"):
            byte = self.read.read1(1)
            assert byte, "the browser is gone"
            text += byte
        return json.loads(text[:-1])

    def ask(self, method, **parameters):
        self.number += 1
        question = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            question["sessionId"] = self.session
        self.write.write(json.dumps(question).encode() + b"\0")
        self.write.flush()
        while True:
            answer = self.message()
            if answer.get("id") == self.number:
                assert "result" in answer, answer
                return answer["result"]
            self.events.append(answer)

    def wait(self, event):
        while not any(e.get("method") == event for e in self.events):
            self.events.append(self.message())

    def look(self, page, width, dark):
        """What is wrong with the page, and a picture of it."""
        self.events.clear()
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.ask("Emulation.setEmulatedMedia", features=[scheme])
        self.ask("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
        self.events.clear()
        self.ask("Page.navigate", url=page.as_uri())
        self.wait("Page.loadEventFired")
        answer = self.ask("Runtime.evaluate", expression=LOOK, returnByValue=True)["result"].get("value")
        assert answer is not None, "the page could not be looked at"
        wrong = list(answer["found"])
        if answer["dark"] != dark:
            wrong.append("it is bright in the dark" if dark else "it is dark in the light")
        for event in self.events:
            what = event.get("params", {})
            if event.get("method") in ("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded"):
                wrong.append("the console says " + json.dumps(what)[:300])
            if event.get("method") == "Network.requestWillBeSent":
                url = what["request"]["url"]
                if url != page.as_uri() and not url.startswith("data:"):
                    wrong.append(f"it loads {url[:200]}")
        clip = {"x": 0, "y": 0, "width": width, "height": min(answer["height"], 6000), "scale": 1}
        picture = self.ask("Page.captureScreenshot", clip=clip, captureBeyondViewport=True)["data"]
        return wrong, base64.b64decode(picture)

    def close(self):
        self.process.terminate()
        self.process.wait()


def reports(ingot, folder):
    """Reports of every kind: labels, numbers, pictures, text, and circuits if the program has them."""
    jobs = {"digits": ["--epochs", "3"], "regression": ["--epochs", "3"], "autoencoder": ["--epochs", "2"],
            "text": ["--epochs", "1", "--set", "train.batches=20"], "gol": []}
    for name, options in jobs.items():
        run = folder / name
        said = subprocess.run([ingot, "train", name, *options, "--out", run, "--quiet"], capture_output=True, text=True)
        if "there is no recipe" in said.stderr:
            continue
        assert (run / "report.html").exists(), said.stderr
        yield name, run / "report.html"


def main():
    if shutil.which("chromium") is None:
        print("there is no chromium")
        return 77
    problems = []
    with tempfile.TemporaryDirectory() as made:
        folder = pathlib.Path(made)
        pictures = pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else folder
        browser = Browser(folder / "profile")
        try:
            for name, page in reports(pathlib.Path(sys.argv[1]).resolve(), folder):
                for width in (400, 1400):
                    for dark in (False, True):
                        wrong, picture = browser.look(page, width, dark)
                        which = f"{name}-{width}-{'dark' if dark else 'light'}"
                        (pictures / f"{which}.png").write_bytes(picture)
                        problems += [f"{which}: {each}" for each in wrong]
        finally:
            browser.close()
    print("\n".join(problems) or "all good")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
