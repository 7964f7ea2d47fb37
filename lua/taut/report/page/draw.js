// SPDX-License-Identifier: GPL-2.0-or-later
// Draws the machine on a canvas: cables that look alike in one path, so that tens of thousands of
// them are drawn while somebody drags.  Places are in pixels of the drawing as Lua laid it out.

const STATE = { o: 'ok', s: 'suspect', l: 'slow', p: 'lossy', f: 'failed', u: 'unknown' };
const RANK = { unknown: 0, ok: 1, suspect: 2, slow: 3, lossy: 4, failed: 5 };
const WIDTH = { suspect: 2, slow: 3, lossy: 3, failed: 3 };
const DASHES = { suspect: [2, 1.2], lossy: [8, 2, 1.5, 2], failed: [5, 2.5] };
const SLURM = { i: 'idle', b: 'busy', d: 'drained', x: 'not in service', '?': 'not known' };

function worse(a, b) {
    return RANK[a] >= RANK[b] ? a : b;
}

function isBad(state) {
    return RANK[state] > RANK.ok;
}

// The state of a piece: the worse of its two directions.
function stateOfPiece(machine, piece) {
    const forth = STATE[machine.links.state[piece[0]]];
    return piece[1] < 0 ? forth : worse(forth, STATE[machine.links.state[piece[1]]]);
}

function addPiece(path, p) {
    path.moveTo(p[4], p[5]);
    if (p[2] === 1 && p.length >= 10) {
        path.quadraticCurveTo(p[6], p[7], p[8], p[9]);
        return;
    }
    for (let i = 6; i < p.length; i += 2) {
        path.lineTo(p[i], p[i + 1]);
    }
}

// Nodes by router, and the worst state of a router's nodes that are not drawn by themselves.
function countNodes(machine) {
    const nodes = machine.nodes, drawn = new Set(machine.dots.filter((_, i) => i % 3 === 0));
    machine.on = machine.routers.name.map(() => []);
    machine.worst = machine.routers.name.map(() => 'ok');
    nodes.name.forEach((_, n) => {
        const r = nodes.router[n];
        if (r >= 0) {
            machine.on[r].push(n);
            if (!drawn.has(n)) {
                machine.worst[r] = worse(machine.worst[r],
                    worse(STATE[nodes.tx[n]], STATE[nodes.rx[n]]));
            }
        }
    });
}

// Cables by look: { state, thick, path }, those that are not well last.
function cablePaths(machine) {
    const groups = new Map();
    for (const piece of machine.pieces) {
        const state = stateOfPiece(machine, piece), thick = Math.min(piece[3], 6);
        if (thick > 0) {
            const key = state + thick;
            if (!groups.has(key)) {
                groups.set(key, { state, thick, path: new Path2D() });
            }
            addPiece(groups.get(key).path, piece);
        }
    }
    return [...groups.values()].sort((a, b) => RANK[a.state] - RANK[b.state]);
}

// What a router looks like where its nodes' states in Slurm are shown: the commonest, drained first.
function slurmOf(machine, r) {
    const letters = machine.on[r].map((n) => machine.nodes.slurm[n]);
    return ['d', 'x', 'b', 'i'].find((s) => letters.includes(s)) || '?';
}

function lookOfRouter(machine, r, colours) {
    if (colours === 'slurm') {
        return machine.on[r].length ? 'slurm-' + slurmOf(machine, r) : 'hollow';
    }
    const state = machine.worst[r];
    return isBad(state) ? state : machine.routers.hollow[r] ? 'hollow' : 'router';
}

function routerPaths(machine, colours) {
    const groups = new Map(), q = machine.routers, h = q.size / 2;
    q.name.forEach((_, r) => {
        const look = lookOfRouter(machine, r, colours);
        if (!groups.has(look)) {
            groups.set(look, new Path2D());
        }
        groups.get(look).rect(q.x[r] - h, q.y[r] - h, q.size, q.size);
    });
    return groups;
}

function lookOfNode(machine, n, colours) {
    if (colours === 'slurm') {
        return 'slurm-' + machine.nodes.slurm[n];
    }
    const state = worse(STATE[machine.nodes.tx[n]], STATE[machine.nodes.rx[n]]);
    return isBad(state) ? state : 'node';
}

function dotPaths(machine, colours) {
    const groups = new Map(), d = machine.dots;
    for (let i = 0; i < d.length; i += 3) {
        const look = lookOfNode(machine, d[i], colours), half = isBad(look) ? 2.6 : 1.7;
        if (!groups.has(look)) {
            groups.set(look, new Path2D());
        }
        groups.get(look).rect(d[i + 1] - half, d[i + 2] - half, 2 * half, 2 * half);
    }
    return groups;
}

// The colours of the style in force, by name.
function palette() {
    const style = getComputedStyle(document.documentElement);
    const of = (name) => style.getPropertyValue('--' + name).trim();
    const colours = { hollow: of('back'), 'slurm-i': of('ok'), 'slurm-b': of('accent'),
        'slurm-d': of('slow'), 'slurm-x': of('failed'), 'slurm-?': of('unknown') };
    for (const name of ['back', 'panel', 'edge', 'ink', 'faint', 'router', 'node', 'mark', 'ok',
        'suspect', 'slow', 'lossy', 'failed', 'unknown']) {
        colours[name] = of(name);
    }
    return colours;
}

class Picture {
    constructor(canvas, machine) {
        this.canvas = canvas;
        this.colours = 'verdict';
        this.only = false;
        this.view = null;
        this.take(machine);
    }

    // Take a machine, or the same one later: where one looks stays.
    take(machine) {
        this.machine = machine;
        countNodes(machine);
        this.cables = cablePaths(machine);
        this.paint();
    }

    paint() {
        this.routers = routerPaths(this.machine, this.colours);
        this.dots = dotPaths(this.machine, this.colours);
        this.marked = null;
    }

    // All of the machine, in the middle.
    fit() {
        const w = this.canvas.clientWidth, h = this.canvas.clientHeight, m = this.machine;
        const k = Math.max(0.02, Math.min(w / (m.width + 40), h / (m.height + 40)));
        this.view = { k, x: (w - m.width * k) / 2, y: (h - m.height * k) / 2, all: k };
    }

    zoom(factor, x, y) {
        const v = this.view, k = Math.min(40, Math.max(v.all / 2, v.k * factor));
        v.x = x - (x - v.x) * k / v.k;
        v.y = y - (y - v.y) * k / v.k;
        v.k = k;
    }

    move(dx, dy) {
        this.view.x += dx;
        this.view.y += dy;
    }

    // Bring a place to the middle, near enough to see it.
    go(x, y) {
        const v = this.view;
        v.k = Math.max(v.k, Math.min(4, v.all * 6), 1.2);
        v.x = this.canvas.clientWidth / 2 - x * v.k;
        v.y = this.canvas.clientHeight / 2 - y * v.k;
    }

    // Where a place on the screen is in the drawing.
    at(x, y) {
        return [(x - this.view.x) / this.view.k, (y - this.view.y) / this.view.k];
    }

    later() {
        if (!this.waiting) {
            this.waiting = requestAnimationFrame(() => {
                this.waiting = null;
                this.draw();
            });
        }
    }

    resize(ratio) {
        const w = Math.round(this.canvas.clientWidth * ratio);
        const h = Math.round(this.canvas.clientHeight * ratio);
        if (this.canvas.width !== w || this.canvas.height !== h) {
            this.canvas.width = w;
            this.canvas.height = h;
        }
    }

    draw(ratio) {
        const c = this.canvas.getContext('2d'), p = palette();
        ratio = ratio || window.devicePixelRatio || 1;
        this.resize(ratio);
        if (!this.view) {
            this.fit();
        }
        c.setTransform(1, 0, 0, 1, 0, 0);
        c.fillStyle = p.back;
        c.fillRect(0, 0, this.canvas.width, this.canvas.height);
        const v = this.view;
        c.setTransform(v.k * ratio, 0, 0, v.k * ratio, v.x * ratio, v.y * ratio);
        this.drawBoxes(c, p);
        this.drawCables(c, p, false);
        this.drawNodes(c, p);
        this.drawCables(c, p, true);
        this.drawLabels(c, p);
        this.drawSpots(c, p);
        this.drawMarks(c, p);
    }

    // A line's width: the drawing's, but no thicker than its double on the screen, and seen.
    thickness(w) {
        return Math.max(Math.min(w, 2 * w / this.view.k), 0.35 / this.view.k);
    }

    drawBoxes(c, p) {
        c.lineWidth = this.thickness(1);
        c.strokeStyle = p.edge;
        c.fillStyle = p.panel;
        for (const b of this.machine.boxes) {
            c.fillRect(b[0], b[1], b[2], b[3]);
            c.strokeRect(b[0], b[1], b[2], b[3]);
        }
    }

    drawCables(c, p, bad) {
        for (const g of this.cables) {
            if (isBad(g.state) === bad && (bad || !this.only)) {
                const least = bad ? 1.4 / this.view.k : 0;
                const w = WIDTH[g.state] || this.machine.thin * (1 + (g.thick - 1) * 0.5);
                c.lineWidth = Math.max(this.thickness(w), least);
                c.strokeStyle = p[g.state];
                c.setLineDash(DASHES[g.state] || []);
                c.stroke(g.path);
            }
        }
        c.setLineDash([]);
    }

    drawNodes(c, p) {
        for (const [look, path] of this.dots) {
            c.fillStyle = p[look];
            c.fill(path);
        }
        c.lineWidth = this.thickness(0.8);
        for (const [look, path] of this.routers) {
            c.globalAlpha = this.job ? 0.25 : 1;
            c.fillStyle = p[look];
            c.fill(path);
            c.strokeStyle = isBad(look) ? p.ink : p.router;
            c.stroke(path);
        }
        c.globalAlpha = 1;
        if (this.job) {
            c.fillStyle = p.mark;
            c.fill(this.jobPath());
        }
    }

    // The routers of a job's nodes, and its nodes where those are drawn.
    jobPath() {
        if (!this.marked) {
            const m = this.machine, q = m.routers, h = q.size / 2 + 1, d = m.dots;
            this.marked = new Path2D();
            for (const r of new Set([...this.job].map((n) => m.nodes.router[n]))) {
                this.marked.rect(q.x[r] - h, q.y[r] - h, 2 * h, 2 * h);
            }
            for (let i = 0; i < d.length; i += 3) {
                if (this.job.has(d[i])) {
                    this.marked.rect(d[i + 1] - 2.6, d[i + 2] - 2.6, 5.2, 5.2);
                }
            }
        }
        return this.marked;
    }

    // Letters that would be too small to read are left out.
    drawLabels(c, p) {
        c.fillStyle = p.faint;
        for (const [x, y, text, size, anchor, turn, bold] of this.machine.labels) {
            if (size * this.view.k < 5) {
                continue;
            }
            c.save();
            c.translate(x, y);
            c.rotate(turn * Math.PI / 180);
            c.font = (bold ? 'bold ' : '') + size + 'px sans-serif';
            c.textAlign = anchor === 'middle' ? 'center' : anchor;
            c.lineWidth = 3;
            c.strokeStyle = p.back;
            c.strokeText(text, 0, 0);
            c.fillText(text, 0, 0);
            c.restore();
        }
    }

    // What is not well has a spot that is seen from afar.
    drawSpots(c, p) {
        const least = 4 / this.view.k;
        for (const [x, y, state] of this.spots || []) {
            if (this.machine.routers.size < 2 * least) {
                c.fillStyle = p[state];
                c.strokeStyle = p.back;
                c.lineWidth = 1 / this.view.k;
                c.beginPath();
                c.arc(x, y, least, 0, 2 * Math.PI);
                c.fill();
                c.stroke();
            }
        }
    }

    // A ring round what was chosen.
    drawMarks(c, p) {
        if (this.ring) {
            c.lineWidth = 2.5 / this.view.k;
            c.strokeStyle = p.mark;
            c.beginPath();
            c.arc(this.ring[0], this.ring[1], Math.max(this.machine.routers.size, 14 / this.view.k),
                0, 2 * Math.PI);
            c.stroke();
        }
    }
}
