#!/usr/bin/env python3
"""Trajectories of the classic control tasks from their published equations (Barto, Sutton and Anderson 1983; Sutton 1996; Moore 1990; in the form
and with the constants of Gymnasium), in Python's doubles: tests/goldens/control.txt. Written apart from src/rl, to compare with.
A line is: task, action, the state after it, reward, terminated; a line "start" begins with a state."""
import math
import pathlib
import random


def cart_pole(state, action):
    x, x_dot, theta, theta_dot = state
    gravity, masscart, masspole, length, force_mag, tau = 9.8, 1.0, 0.1, 0.5, 10.0, 0.02
    total_mass, polemass_length = masspole + masscart, masspole * length
    force = force_mag if action == 1 else -force_mag
    costheta, sintheta = math.cos(theta), math.sin(theta)
    temp = (force + polemass_length * theta_dot**2 * sintheta) / total_mass
    thetaacc = (gravity * sintheta - costheta * temp) / (length * (4.0 / 3.0 - masspole * costheta**2 / total_mass))
    xacc = temp - polemass_length * thetaacc * costheta / total_mass
    state = (x + tau * x_dot, x_dot + tau * xacc, theta + tau * theta_dot, theta_dot + tau * thetaacc)
    over = abs(state[0]) > 2.4 or abs(state[2]) > 12 * 2 * math.pi / 360
    return state, 1.0, over


def acrobot(state, action):
    m1 = m2 = l1 = i1 = i2 = 1.0
    lc1 = lc2 = 0.5
    g, dt = 9.8, 0.2
    torque = (-1.0, 0.0, 1.0)[action]

    def slope(s):
        theta1, theta2, dtheta1, dtheta2 = s
        d1 = m1 * lc1**2 + m2 * (l1**2 + lc2**2 + 2 * l1 * lc2 * math.cos(theta2)) + i1 + i2
        d2 = m2 * (lc2**2 + l1 * lc2 * math.cos(theta2)) + i2
        phi2 = m2 * lc2 * g * math.cos(theta1 + theta2 - math.pi / 2.0)
        phi1 = (-m2 * l1 * lc2 * dtheta2**2 * math.sin(theta2) - 2 * m2 * l1 * lc2 * dtheta2 * dtheta1 * math.sin(theta2)
                + (m1 * lc1 + m2 * l1) * g * math.cos(theta1 - math.pi / 2) + phi2)
        ddtheta2 = (torque + d2 / d1 * phi1 - m2 * l1 * lc2 * dtheta1**2 * math.sin(theta2) - phi2) / (m2 * lc2**2 + i2 - d2**2 / d1)
        return dtheta1, dtheta2, -(d2 * ddtheta2 + phi1) / d1, ddtheta2

    def along(s, k, h):
        return tuple(a + h * b for a, b in zip(s, k))

    k1 = slope(state)
    k2 = slope(along(state, k1, dt / 2))
    k3 = slope(along(state, k2, dt / 2))
    k4 = slope(along(state, k3, dt))
    theta1, theta2, dtheta1, dtheta2 = (s + dt / 6 * (a + 2 * b + 2 * c + d) for s, a, b, c, d in zip(state, k1, k2, k3, k4))

    def wrap(angle):
        return math.remainder(angle, 2 * math.pi)

    def bound(x, most):
        return min(max(x, -most), most)

    theta1, theta2, dtheta1, dtheta2 = wrap(theta1), wrap(theta2), bound(dtheta1, 4 * math.pi), bound(dtheta2, 9 * math.pi)
    over = -math.cos(theta1) - math.cos(theta2 + theta1) > 1.0
    return (theta1, theta2, dtheta1, dtheta2), 0.0 if over else -1.0, over


def mountain_car(state, action):
    position, velocity = state
    velocity += (action - 1) * 0.001 + math.cos(3 * position) * -0.0025
    velocity = min(max(velocity, -0.07), 0.07)
    position = min(max(position + velocity, -1.2), 0.6)
    if position == -1.2 and velocity < 0:
        velocity = 0.0
    return (position, velocity), -1.0, position >= 0.5 and velocity >= 0


def main():
    source = random.Random(1)
    lines = []

    def play(name, step, start, choose, steps):
        state = start
        lines.append(f"{name} start " + " ".join(x.hex() for x in state))
        for _ in range(steps):
            action = choose(state)
            state, reward, over = step(state, action)
            lines.append(f"{name} {action} " + " ".join(x.hex() for x in state) + f" {reward} {int(over)}")
            if over:
                break

    def near(limit, n):
        return tuple(source.uniform(-limit, limit) for _ in range(n))

    for _ in range(5):
        play("cartpole", cart_pole, near(0.05, 4), lambda s: source.randrange(2), 200)
    for _ in range(3):
        play("cartpole", cart_pole, near(0.05, 4), lambda s: 1 if s[2] + 0.3 * s[3] + 0.05 * s[0] + 0.1 * s[1] > 0 else 0, 200)
    for _ in range(2):
        play("acrobot", acrobot, near(0.1, 4), lambda s: source.randrange(3), 25)
        play("acrobot", acrobot, near(0.1, 4), lambda s: 2 if s[2] > 0 else 0, 100)
    play("acrobot", acrobot, (1.9, 0.2, 3.0, 0.5), lambda s: 2, 50)  # up to the end
    for _ in range(2):
        play("mountaincar", mountain_car, (source.uniform(-0.6, -0.4), 0.0), lambda s: source.randrange(3), 100)
        play("mountaincar", mountain_car, (source.uniform(-0.6, -0.4), 0.0), lambda s: 2 if s[1] >= 0 else 0, 200)
    play("mountaincar", mountain_car, (-1.0, -0.06), lambda s: 0, 20)  # into the wall

    path = pathlib.Path(__file__).resolve().parent.parent / "tests" / "goldens" / "control.txt"
    path.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
