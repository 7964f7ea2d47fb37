// SPDX-License-Identifier: GPL-2.0-or-later
// Finds things: what is under the pointer, what has a name, what is not well; and says what each is.

const FOUND_MOST = 30;

// Square of the distance from a point to a line between two others.
function distance2(x, y, ax, ay, bx, by) {
    const dx = bx - ax, dy = by - ay, len = dx * dx + dy * dy;
    const t = len ? Math.max(0, Math.min(1, ((x - ax) * dx + (y - ay) * dy) / len)) : 0;
    const ex = x - ax - t * dx, ey = y - ay - t * dy;
    return ex * ex + ey * ey;
}

// A point of a curve through three.
function curveAt(p, t) {
    const u = 1 - t;
    return [u * u * p[4] + 2 * u * t * p[6] + t * t * p[8],
        u * u * p[5] + 2 * u * t * p[7] + t * t * p[9]];
}

function distanceToPiece(p, x, y) {
    let best = Infinity;
    if (p[2] === 1 && p.length >= 10) {
        for (let i = 0, a = [p[4], p[5]]; i < 8; i++) {
            const b = curveAt(p, (i + 1) / 8);
            best = Math.min(best, distance2(x, y, a[0], a[1], b[0], b[1]));
            a = b;
        }
        return best;
    }
    for (let i = 4; i + 3 < p.length; i += 2) {
        best = Math.min(best, distance2(x, y, p[i], p[i + 1], p[i + 2], p[i + 3]));
    }
    return best;
}

class Finder {
    constructor(data) {
        this.take(data);
    }

    take(data) {
        this.data = data;
        this.machine = data.machine;
        this.cases = new Map(data.cases.map((c) => [c.name, c]));
        this.links = new Map(this.machine.links.name.map((name, i) => [name, i]));
        this.nodes = new Map(this.machine.nodes.name.map((name, i) => [name, i]));
        this.routers = new Map(this.machine.routers.name.map((name, i) => [name, i]));
        this.jobs = new Map((data.jobs || []).map((j) => [j.id, j]));
        this.pieces = new Map();
        this.dots = new Map();
        for (const p of this.machine.pieces) {
            for (const link of [p[0], p[1]]) {
                if (link >= 0 && !this.pieces.has(link)) {
                    this.pieces.set(link, p);
                }
            }
        }
        for (let i = 0, d = this.machine.dots; i < d.length; i += 3) {
            this.dots.set(d[i], [d[i + 1], d[i + 2]]);
        }
    }

    // What is at a place of the drawing; `near` in its pixels.
    at(x, y, near, only) {
        for (const [n, p] of this.dots) {
            if (Math.abs(p[0] - x) < 3 && Math.abs(p[1] - y) < 3) {
                return { kind: 'node', index: n };
            }
        }
        const q = this.machine.routers, h = Math.max(q.size / 2, near / 2);
        for (let r = 0; r < q.name.length; r++) {
            if (Math.abs(q.x[r] - x) <= h && Math.abs(q.y[r] - y) <= h) {
                return { kind: 'router', index: r };
            }
        }
        return this.linkAt(x, y, near, only);
    }

    linkAt(x, y, near, only) {
        let best = null, least = near * near;
        for (const p of this.machine.pieces) {
            const state = stateOfPiece(this.machine, p);
            // what is not well lies above
            const d = p[3] > 0 || isBad(state) ? distanceToPiece(p, x, y) / (isBad(state) ? 4 : 1)
                : Infinity;
            if (d < least && (!only || isBad(state))) {
                least = d;
                best = p;
            }
        }
        return best && { kind: 'link', index: best[0], piece: best };
    }

    // Where a thing is drawn.
    place(thing) {
        const m = this.machine;
        if (thing.kind === 'link') {
            const p = thing.piece || this.pieces.get(thing.index);
            if (p && p[2] === 1 && p.length >= 10) {
                return curveAt(p, 0.5);
            } else if (p) {
                return [(p[4] + p[p.length - 2]) / 2, (p[5] + p[p.length - 1]) / 2];
            }
            return this.placeOfRouter(m.links.from[thing.index]);
        } else if (thing.kind === 'node') {
            return this.dots.get(thing.index) || this.placeOfRouter(m.nodes.router[thing.index]);
        }
        return this.placeOfRouter(thing.index);
    }

    placeOfRouter(r) {
        const q = this.machine.routers;
        return r >= 0 ? [q.x[r], q.y[r]] : null;
    }

    // A thing by kind and name.
    get(kind, name) {
        const index = { link: this.links, node: this.nodes, router: this.routers }[kind].get(name);
        return index === undefined ? null : { kind, index };
    }

    name(thing) {
        return this.machine[thing.kind + 's'].name[thing.index];
    }

    // Things whose name has a text: the same name first, then those that begin with it.
    search(text) {
        const wanted = text.trim().toLowerCase(), found = [];
        if (!wanted) {
            return { found, all: 0 };
        }
        for (const kind of ['node', 'router', 'link']) {
            this.machine[kind + 's'].name.forEach((name, index) => {
                const at = name.toLowerCase().indexOf(wanted);
                if (at >= 0) {
                    found.push({ kind, index, name,
                        rank: (name.length === wanted.length ? 0 : at === 0 ? 1 : 2) });
                }
            });
        }
        found.sort((a, b) => a.rank - b.rank || a.name.length - b.name.length);
        return { found: found.slice(0, FOUND_MOST), all: found.length };
    }

    // What is not well, the worst first: as the cases are.
    bad() {
        const list = this.data.cases.map((c) => [c, c.link ? this.get('link', c.name)
            : this.get('node', c.name.replace(/\/[tr]x\d*$/, ''))]);
        return list.filter(([, thing]) => thing).map(([c, thing]) =>
            Object.assign(thing, { state: c.state }));
    }

    // Names of what is not well at a thing.
    casesOf(thing) {
        if (thing.kind === 'link') {
            const p = thing.piece || this.pieces.get(thing.index);
            return (p ? [p[0], p[1]].filter((l) => l >= 0) : [thing.index])
                .map((l) => this.machine.links.name[l]).filter((name) => this.cases.has(name));
        }
        const begin = this.name(thing) + '/';
        return this.data.cases.map((c) => c.name).filter((name) => name.startsWith(begin));
    }

    // Where one may go from a thing: a link's routers, a node's.
    neighbours(thing) {
        const m = this.machine;
        const routers = thing.kind === 'link' ? [m.links.from[thing.index], m.links.to[thing.index]]
            : thing.kind === 'node' ? [m.nodes.router[thing.index]] : [];
        return routers.filter((r) => r >= 0).map((index) => ({ kind: 'router', index }));
    }

    // Where that is, and how bad: the worst last, so that it lies above.
    spots() {
        return this.bad().map((thing) => [...(this.place(thing) || [NaN, NaN]), thing.state])
            .reverse();
    }

    ago(seconds) {
        const s = Math.max(0, this.data.at - seconds);
        return !seconds ? 'never tested' : 'tested ' + (s < 120 ? s + ' s' : s < 7200
            ? Math.floor(s / 60) + ' min' : s < 172800 ? Math.floor(s / 3600) + ' h'
            : Math.floor(s / 86400) + ' days') + ' ago';
    }

    // What is known of a component, in lines; all of its evidence, or as much as a look takes.
    caseLines(name, most) {
        const c = this.cases.get(name);
        if (!c) {
            return [];
        }
        const lines = [c.name + ' ' + (c.state === 'slow' && c.left !== undefined
            ? 'slow at ' + Math.round(c.left * 100) + '%' : c.state === 'lossy' && c.loss
                ? 'loses ' + c.loss : c.state)
            + (c.remark ? ' (' + c.remark + ')' : '') + (c.action ? ', action: ' + c.action : '')];
        for (const text of c.texts.slice(0, most)) {
            lines.push('\u2022 ' + text);
        }
        if (c.texts.length > most) {
            lines.push('\u2022 \u2026 (click for all)');
        }
        if (c.cable) {
            lines.push('cable ' + c.cable);
        }
        return lines;
    }

    linkLines(l, most) {
        const links = this.machine.links, name = links.name[l];
        const lines = this.caseLines(name, most);
        const first = lines.length ? [] : [name + ' ' + STATE[links.state[l]].replace('unknown',
            'never tested')];
        return first.concat(lines, links.tests[l] ? ['low ' + links.low[l] + ' of ' + links.tests[l]
            + (links.tests[l] === 1 ? ' test, ' : ' tests, ') + this.ago(links.last[l])] : []);
    }

    nodeLines(n, most) {
        const nodes = this.machine.nodes, name = nodes.name[n];
        let lines = [name + ': ' + SLURM[nodes.slurm[n]] + ' in Slurm; tx '
            + STATE[nodes.tx[n]].replace('unknown', 'never tested') + ', rx '
            + STATE[nodes.rx[n]].replace('unknown', 'never tested')];
        for (const c of this.data.cases) {
            if (!c.link && c.name.startsWith(name + '/')) {
                lines = lines.concat(this.caseLines(c.name, most));
            }
        }
        return lines;
    }

    // Of the two directions of a cable, the one that stands first.
    weight(thing, l) {
        const rank = RANK[STATE[this.machine.links.state[l]]];
        return 2 * rank + (thing.index === l ? 1 : 0);
    }

    // A thing in lines of text.
    lines(thing, most) {
        if (thing.kind === 'node') {
            return this.nodeLines(thing.index, most);
        } else if (thing.kind === 'link') {
            const p = thing.piece || this.pieces.get(thing.index), lines = [];
            const both = p ? [p[0], p[1]].filter((l) => l >= 0) : [thing.index];
            for (const l of both.sort((a, b) => this.weight(thing, b) - this.weight(thing, a))) {
                lines.push(...this.linkLines(l, most));
            }
            return p && p[3] > 1 ? lines.concat((p[3] - 1) + ' more beside it, as well') : lines;
        }
        const r = thing.index, on = this.machine.on[r];
        let lines = ['router ' + this.machine.routers.name[r] + (on.length ? '' : ', no nodes')];
        for (const n of on.slice(0, most)) {
            lines = lines.concat(this.nodeLines(n, most));
        }
        return on.length > most ? lines.concat((on.length - most) + ' more nodes') : lines;
    }
}
