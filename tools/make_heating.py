#!/usr/bin/env python3
"""Writes data/heating.csv: what it takes to heat 1,500 simulated houses, from the physics of their walls, windows, roofs
and air, with measurement noise. It is simulated, and says so; a table like those that people have."""
import pathlib
import random

random.seed(20)
rows = []
while len(rows) < 1500:
    area = random.uniform(60, 320)  # m² of living space
    floors = random.choice([1, 1, 2, 2, 2, 3])
    insulation = random.choice([0, 0, 4, 6, 8, 10, 12, 16, 20, 24])  # cm
    windows = random.uniform(0.08, 0.40)  # share of the outer walls
    panes = random.choice([1, 2, 2, 2, 3])
    outside = random.gauss(4, 7)  # °C
    wind = random.gammavariate(2, 1.6)  # m/s
    sun = max(0.0, random.gauss(90, 110))  # W/m² on a vertical wall
    people = random.randint(0, 6)
    inside = random.gauss(20.5, 1.2)
    if outside > 16:
        continue
    footprint = area / floors
    walls = 4 * footprint**0.5 * 2.7 * floors
    glass = walls * windows
    u_wall = 1 / (0.55 + insulation / 100 / 0.035)  # W/m²K
    u_roof = 1 / (0.70 + 1.4 * insulation / 100 / 0.035)
    u_glass = {1: 5.2, 2: 2.7, 3: 1.0}[panes]
    air = 0.34 * area * 2.6 * (0.25 + 0.06 * wind)  # W/K: air that is exchanged per hour
    loss = u_wall * (walls - glass) + u_roof * footprint + u_glass * glass + air
    gains = 0.45 * glass / 4 * sun * (0.85 if panes > 1 else 0.95) + 85 * people + 2.1 * area
    heating = max(0.0, loss * (inside - outside) - gains) / 1000
    heating *= random.gauss(1, 0.02)
    rows.append([f"{area:.0f}", floors, insulation, f"{windows:.2f}", panes, f"{outside:.1f}", f"{wind:.1f}", f"{sun:.0f}",
                 people, f"{inside:.1f}", f"{heating:.2f}"])
names = "area_m2,floors,insulation_cm,window_share,panes,outside_c,wind_ms,sun_wm2,people,inside_c,heating_kw"
path = pathlib.Path(__file__).resolve().parent.parent / "data" / "heating.csv"
path.write_text("\n".join([names] + [",".join(str(v) for v in row) for row in rows]) + "\n")
