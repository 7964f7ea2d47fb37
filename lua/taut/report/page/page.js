// SPDX-License-Identifier: GPL-2.0-or-later
// What a page does: controls of the picture, and, where it is served, news from time to time.
// Texts are only ever written as text.

const LOOK = 4; // findings shown beside the pointer

const get = (id) => document.getElementById(id);
const canvas = get('picture'), tip = get('tip'), about = get('about'), panel = get('panel');

function readData(of) {
    return JSON.parse(of.getElementById('data').textContent);
}

const finder = new Finder(readData(document));
const picture = new Picture(canvas, finder.machine);
picture.spots = finder.spots();
let chosen = null, turn = -1, hovered = null;

// ---------------------------------------------------------------- choosing

// A button of the panel that shows another thing, or goes to a row of a table.
function wayTo(label, act) {
    const button = document.createElement('button');
    button.type = 'button';
    button.className = 'show';
    button.textContent = label;
    button.addEventListener('click', act);
    return button;
}

// From a thing: the rows that say more of it, the routers at its ends, its router's nodes.
function waysFrom(thing) {
    const list = [];
    for (const name of finder.casesOf(thing)) {
        const row = document.getElementById('case-' + name);
        if (row) {
            list.push(wayTo(name + ': all of its evidence', () => {
                row.querySelectorAll('details').forEach((d) => { d.open = true; });
                row.scrollIntoView();
            }));
        }
    }
    for (const other of finder.neighbours(thing)) {
        list.push(wayTo(other.kind + ' ' + finder.name(other), () => choose(other, true)));
    }
    return list;
}

// The panel says this, and leads there; nothing closes it.
function say(text, thing) {
    about.textContent = text;
    get('ways').replaceChildren(...(thing ? waysFrom(thing) : []));
    panel.hidden = text === '';
}

// Show a thing: a ring round it, a panel with what is known of it.
function choose(thing, go) {
    chosen = thing;
    const where = thing && finder.place(thing);
    picture.ring = where;
    if (where && go) {
        picture.go(where[0], where[1]);
    }
    say(thing ? finder.lines(thing, 100).join('\n') : '', thing);
    picture.later();
}

function chooseJob(id) {
    const job = finder.jobs.get(id);
    picture.job = job ? new Set(job.nodes.map((name) => finder.nodes.get(name))) : null;
    picture.marked = null;
    choose(null);
    if (job) {
        say('Job ' + id + ': ' + job.nodes.length
            + (job.nodes.length === 1 ? ' node' : ' nodes') + ', marked in the picture');
    }
}

function letGo() {
    picture.job = null;
    choose(null);
    hideFound();
}

function step(by) {
    const list = finder.bad();
    if (!list.length) {
        say(finder.data.sets ? 'No link or node by itself; sets with a slow link stand above.'
            : 'Everything that was tested is well.');
        return;
    }
    turn = turn < 0 && by < 0 ? list.length - 1 : (turn + by + list.length) % list.length;
    choose(list[turn], true);
    say((turn + 1) + ' of ' + list.length + ': ' + about.textContent, list[turn]);
}

// ---------------------------------------------------------------- searching

function hideFound() {
    get('found').hidden = true;
    get('found').replaceChildren();
}

function listItem(child) {
    const item = document.createElement('li');
    item.append(child);
    return item;
}

function showFound() {
    const { found, all } = finder.search(get('find').value);
    const items = found.map((thing) => {
        const button = document.createElement('button');
        button.type = 'button';
        button.className = 'show';
        button.textContent = thing.kind + ' ' + thing.name;
        button.addEventListener('click', () => {
            choose(thing, true);
            canvas.focus();
        });
        return listItem(button);
    });
    if (all > found.length) {
        items.push(listItem((all - found.length) + ' more'));
    } else if (!all && get('find').value.trim()) {
        items.push(listItem('nothing has this in its name'));
    }
    get('found').replaceChildren(...items);
    get('found').hidden = items.length === 0;
}

function searchKeys(event) {
    if (event.key === 'Enter') {
        const first = finder.search(get('find').value).found[0];
        if (first) {
            choose(first, true);
        }
    } else if (event.key === 'Escape') {
        get('find').value = '';
        letGo();
    }
}

// ---------------------------------------------------------------- pointer and keys

function position(event) {
    const box = canvas.getBoundingClientRect();
    return [event.clientX - box.left, event.clientY - box.top];
}

function thingAt(x, y) {
    const [u, v] = picture.at(x, y);
    return finder.at(u, v, 6 / picture.view.k, picture.only);
}

function showTip(x, y) {
    const thing = thingAt(x, y);
    tip.hidden = !thing;
    if (!thing) {
        return;
    }
    tip.textContent = finder.lines(thing, LOOK).join('\n');
    const right = x > canvas.clientWidth / 2, low = y > canvas.clientHeight / 2;
    tip.style.left = (right ? Math.max(0, x - tip.offsetWidth - 12) : x + 14) + 'px';
    tip.style.top = (low ? Math.max(0, y - tip.offsetHeight - 12) : y + 14) + 'px';
}

// The pointers that are down: one moves, two zoom.
const down = new Map();
let dragged = 0;

function pinch(event, x, y) {
    const other = [...down].find(([id]) => id !== event.pointerId)[1];
    const was = down.get(event.pointerId);
    const before = Math.hypot(was[0] - other[0], was[1] - other[1]);
    const after = Math.hypot(x - other[0], y - other[1]);
    if (before > 0 && after > 0) {
        picture.zoom(after / before, (x + other[0]) / 2, (y + other[1]) / 2);
    }
}

function pointerMove(event) {
    const [x, y] = position(event), was = down.get(event.pointerId);
    if (!was) {
        cancelAnimationFrame(hovered);
        hovered = requestAnimationFrame(() => showTip(x, y));
        return;
    }
    dragged += Math.abs(x - was[0]) + Math.abs(y - was[1]);
    if (down.size === 2) {
        pinch(event, x, y);
    } else {
        picture.move(x - was[0], y - was[1]);
    }
    down.set(event.pointerId, [x, y]);
    tip.hidden = true;
    picture.later();
}

function pointerDown(event) {
    canvas.setPointerCapture(event.pointerId);
    down.set(event.pointerId, position(event));
    dragged = 0;
}

function pointerUp(event) {
    if (down.delete(event.pointerId) && dragged < 5 && event.type === 'pointerup') {
        choose(thingAt(...position(event)));
    }
}

function zoomMiddle(factor) {
    picture.zoom(factor, canvas.clientWidth / 2, canvas.clientHeight / 2);
    picture.later();
}

function showWhole() {
    picture.fit();
    picture.later();
}

const KEYS = { ArrowLeft: () => picture.move(60, 0), ArrowRight: () => picture.move(-60, 0),
    ArrowUp: () => picture.move(0, 60), ArrowDown: () => picture.move(0, -60),
    '+': () => zoomMiddle(1.4), '=': () => zoomMiddle(1.4), '-': () => zoomMiddle(1 / 1.4),
    0: showWhole, n: () => step(1), p: () => step(-1), Escape: letGo };

function pressKey(event) {
    const act = !event.ctrlKey && !event.altKey && !event.metaKey && KEYS[event.key];
    if (act) {
        event.preventDefault();
        act();
        picture.later();
    }
}

function turnWheel(event) {
    event.preventDefault();
    picture.zoom(Math.exp(-event.deltaY * (event.deltaMode ? 0.05 : 0.0015)), ...position(event));
    tip.hidden = true;
    picture.later();
}

// ---------------------------------------------------------------- legend

const LEGENDS = { verdict: [['ok', 'well'], ['suspect', 'suspect'], ['slow', 'slow'],
    ['lossy', 'lossy'], ['failed', 'failed'], ['unknown', 'never tested']],
slurm: [['slurm-i', 'idle'], ['slurm-b', 'busy'], ['slurm-d', 'drained'],
    ['slurm-x', 'not in service'], ['slurm-?', 'not known']] };

function svgPart(name, attributes) {
    const part = document.createElementNS('http://www.w3.org/2000/svg', name);
    for (const [key, value] of Object.entries(attributes)) {
        part.setAttribute(key, value);
    }
    return part;
}

function legendItem(look, word, colours, p) {
    const mark = svgPart('svg', { viewBox: '0 0 30 10', 'aria-hidden': 'true' });
    mark.append(colours === 'slurm' ? svgPart('rect', { x: 10, width: 10, height: 10, fill: p[look] })
        : svgPart('line', { x1: 0, x2: 30, y1: 5, y2: 5, stroke: p[look],
            'stroke-width': WIDTH[look] ? WIDTH[look] + 1 : 2, 'stroke-dasharray':
            (DASHES[look] || ['none']).join(' ') }));
    const item = listItem(mark);
    item.append(word);
    return item;
}

function showLegend() {
    const p = palette();
    get('legend').replaceChildren(...LEGENDS[picture.colours].map(([look, word]) =>
        legendItem(look, word, picture.colours, p)));
}

function repaint() {
    picture.colours = get('colours').value;
    picture.only = get('only').checked;
    picture.paint();
    showLegend();
    picture.later();
}

// ---------------------------------------------------------------- paper

// On paper the whole machine stands, as wide as the page, in light colours.
function beforePrint() {
    canvas.style.width = '1000px';
    canvas.style.height = Math.ceil(1000 * (picture.machine.height + 40)
        / (picture.machine.width + 40)) + 'px';
    picture.kept = picture.view;
    picture.fit();
    picture.draw(2);
}

function afterPrint() {
    canvas.style.width = canvas.style.height = '';
    picture.view = picture.kept;
    showLegend();
    picture.later();
}

// ---------------------------------------------------------------- news

// The same page again: its parts in the place of those that are there.
function takeNews(text) {
    // its style is the one that is there, and the page's policy would complain of another nonce
    const bare = text.replace(/<style[^]*?<\/style>/, '');
    const fresh = new DOMParser().parseFromString(bare, 'text/html');
    for (const part of document.querySelectorAll('main > section:not(#machine), #when')) {
        const other = fresh.getElementById(part.id);
        const open = [...part.querySelectorAll('details')].map((d) => d.open);
        if (other) {
            part.replaceWith(document.adoptNode(other));
            other.querySelectorAll('details').forEach((d, i) => { d.open = open[i] || false; });
        }
    }
    finder.take(readData(fresh));
    picture.take(finder.machine);
    picture.spots = finder.spots();
    picture.job = null;
    chosen = chosen && finder.get(chosen.kind, finder.name(chosen) || '');
    picture.later();
}

async function askNews() {
    try {
        const answer = await fetch(location.pathname, { cache: 'no-store' });
        if (!answer.ok) {
            throw new Error(answer.statusText);
        }
        const text = await answer.text();
        const focused = document.activeElement;
        if (!focused || !focused.closest('main > section:not(#machine)')) {
            takeNews(text);
        }
        document.body.classList.remove('stale');
    } catch (error) {
        document.body.classList.add('stale');
        get('when').textContent = 'No answer (' + error.message + '): this is as it was before.';
    }
}

// ---------------------------------------------------------------- all of it

function chooseShown(event) {
    const button = event.target.closest('main section button.show[data-kind]');
    if (!button) {
        return;
    }
    const kind = button.dataset.kind, name = button.dataset.name;
    if (kind === 'job') {
        chooseJob(name);
    } else {
        choose(finder.get(kind, name), true);
    }
    get('machine').scrollIntoView();
    canvas.focus({ preventScroll: true });
}

function on(target, events) {
    for (const [name, fn] of Object.entries(events)) {
        target.addEventListener(name, fn, { passive: false });
    }
}

on(canvas, { pointermove: pointerMove, pointerdown: pointerDown, pointerup: pointerUp,
    pointercancel: pointerUp, pointerleave: () => { tip.hidden = true; }, wheel: turnWheel,
    keydown: pressKey });
on(get('find'), { input: showFound, keydown: searchKeys });
on(get('next'), { click: () => step(1) });
on(get('previous'), { click: () => step(-1) });
on(get('closer'), { click: () => zoomMiddle(1.4) });
on(get('farther'), { click: () => zoomMiddle(1 / 1.4) });
on(get('whole'), { click: showWhole });
on(get('colours'), { change: repaint });
on(get('only'), { change: repaint });
on(get('theme'), { change: () => {
    document.documentElement.dataset.theme = get('theme').value;
    repaint();
} });
on(get('let-go'), { click: letGo });
on(get('print'), { click: () => window.print() });
on(document, { click: chooseShown });
on(window, { resize: () => { picture.fit(); picture.later(); }, beforeprint: beforePrint,
    afterprint: afterPrint });
on(window.matchMedia('(prefers-color-scheme: dark)'), { change: repaint });
showLegend();
picture.draw();
if (document.body.dataset.live) {
    setInterval(askNews, Number(document.body.dataset.live) * 1000);
}
