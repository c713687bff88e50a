// Draws /chain.json, twice a second. All that is shown is set as text, never as
// markup: names are what nodes call themselves.
'use strict';

const POLL_MS = 500;
const PATIENCE_MS = 2500;  // then what is shown is called old
// Reports of two nodes are of moments that differ by a heartbeat or two.
const REPORTS_S = 0.3;

const byId = (id) => document.getElementById(id);

function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key === 'class') made.className = value;
    else made.setAttribute(key, value);
  }
  made.append(...children);
  return made;
}

// 64-bit numbers are strings.
const number = (text) => Number(text || 0);
const words = (constant, prefix) =>
  (constant || '').replace(prefix, '').toLowerCase().replaceAll('_', ' ');
const grouped = (count) => String(count).replace(/\B(?=(\d{3})+$)/g, '\u2009');
const counted = (count, one) => `${count} ${one}${count === 1 ? '' : 's'}`;
const mib = (bytes) => `${(number(bytes) / 2 ** 20).toFixed(1)} MiB`;

function seconds(ms) {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 120000) return `${(ms / 1000).toFixed(1)} s`;
  return `${Math.round(ms / 60000)} min`;
}

class Rates {
  // Of counts that grow, per second, from one look to the next.
  constructor() { this.last = new Map(); }
  of(key, count, now) {
    const before = this.last.get(key);
    this.last.set(key, {count, now});
    if (before === undefined || now <= before.now || count < before.count) return 0;
    return (count - before.count) * 1000 / (now - before.now);
  }
}

const rates = new Rates();
let cards = new Map();  // node id to what is drawn of it
let heardAt = 0;
let opened = null;      // whose details are shown
let known = {cluster: {}, nodes: {}, events: []};

const isMember = (node) => node.member.role !== 'ROLE_OUTSIDE';

// The node's state: [severity class, text].
function stateOf(node) {
  const condition = words(node.report.condition, 'CONDITION_');
  if (node.away) {
    const left = seconds(number(node.away_left_ms));
    return ['warn', `away; its place is kept for ${left}`];
  }
  if (!node.alive) return ['bad', `silent for ${seconds(number(node.silent_ms))}`];
  if (node.suspect) return ['bad', 'does not answer its neighbour'];
  if (node.removed) return ['warn', 'removed'];
  if (node.draining) return ['warn', 'leaves once another has taken its place'];
  if (number(node.kept_out_ms)) return ['warn', `kept out for ${seconds(number(node.kept_out_ms))}`];
  if (number(node.report.disputed)) return ['bad', `diverges at mutation ${node.report.disputed}`];
  if (node.joining) return ['warn', 'joins'];
  if (condition === 'sound') return ['', 'sound'];
  if (!isMember(node) && condition === 'fresh') return ['', 'spare'];
  return ['warn', condition || 'not heard of yet'];
}

function cardOf(node) {
  const id = node.member.node_id;
  const there = cards.get(id);
  if (there) return there;
  const card = {
    name: element('b', {}, id), role: element('span', {class: 'role'}),
    state: element('span', {class: 'state'}), numbers: element('span', {class: 'numbers'}),
    bars: ['received', 'applied', 'cleaned'].map((each) => element('i', {class: each})),
    link: element('div', {class: 'link'}), lag: element('span'), transport: element('span'),
    progress: element('progress', {max: '1', hidden: ''}),
  };
  card.button = element('button', {class: 'node', type: 'button'}, card.role, card.name,
    element('span', {class: 'cursors', 'aria-hidden': 'true'}, ...card.bars),
    card.numbers, card.state, card.progress);
  card.button.dataset.node = id;
  card.button.addEventListener('click', () => open(id));
  card.link.append(card.transport, element('span', {class: 'wire'}), card.lag);
  card.place = element('li', {class: 'place'});
  cards.set(id, card);
  return card;
}

// The window of numbers that the bars show: what is in flight, or was of late.
let window_ = {low: 0, high: 1};
function fitWindow(members) {
  const cursors = members.map((each) => each.report.cursors || {});
  const high = Math.max(1, ...cursors.map((each) => number(each.received)));
  const low = Math.min(high, ...cursors.map((each) => number(each.cleaned)));
  const span = Math.max(64, (high - low) * 2, window_.high - window_.low > (high - low) * 8
    ? (window_.high - window_.low) / 2 : window_.high - window_.low);
  window_ = {low: high - span, high};
}
const along = (value) =>
  `${Math.max(0, Math.min(100, (value - window_.low) * 100 / (window_.high - window_.low)))}%`;

function drawNode(node, status, now) {
  const card = cardOf(node);
  const cursors = node.report.cursors || {};
  const [kind, text] = stateOf(node);
  const role = words(node.member.role, 'ROLE_');
  card.button.className = `node ${kind}`;
  card.role.textContent = role === 'outside' ? '' : role;
  card.state.textContent = text;
  const values = [cursors.received, cursors.applied, cursors.cleaned].map(number);
  card.bars.forEach((bar, i) => { bar.style.width = along(values[i]); });
  const rate = rates.of(node.member.node_id, values[1], now);
  card.rate = rate;
  card.numbers.textContent = `applied ${grouped(values[1])}` +
    (rate >= 1 ? `, ${grouped(Math.round(rate))}/s` : '');
  const transfer = status && status.transfer;
  const receives = transfer && transfer.receiving;
  card.progress.hidden = !receives;
  if (receives) {
    const pages = transfer.of_changes ? number(transfer.pages) : 0;
    const total = pages * 4096 || number(status.heap_bytes_total) || 1;
    card.progress.value = Math.min(1, number(transfer.bytes) / total);
    card.state.textContent = pages
      ? `catches up: ${Math.round(number(transfer.bytes) / 4096)} of ${pages} pages`
      : `joins: ${mib(transfer.bytes)} received`;
  }
  card.button.setAttribute('aria-label',
    `${node.member.node_id}, ${role}, ${card.state.textContent}, ${card.numbers.textContent}`);
  return card;
}

// From a member to the one after it.
function drawLink(from, to, statuses) {
  const card = cards.get(from.member.node_id);
  const status = statuses[from.member.node_id];
  const link = ((status && status.links) || []).find((each) =>
    each.peer === to.member.node_id && each.role === 'LINK_ROLE_SUCCESSOR');
  const applied = (node) => number((node.report.cursors || {}).applied);
  const behind = applied(from) - applied(to);
  const lags = behind > card.rate * REPORTS_S + 1;
  const cut = (link && !link.connected) || !from.alive || !to.alive;
  card.link.className = `link ${cut ? 'cut' : card.rate >= 1 ? 'flows' : ''}`;
  card.transport.textContent = link ? link.transport : '\u00a0';
  const waitMs = number(from.report.append_debt_ms);
  card.lag.textContent = cut ? 'no link'
    : waitMs > 300 ? `waits ${seconds(waitMs)}` : lags ? `${grouped(behind)} behind` : 'in step';
}

function drawFacts(cluster) {
  const facts = [
    ['view', cluster.view_id], ['mode', words(cluster.chain_mode, 'CHAIN_MODE_')],
    ['members', `${cluster.nodes.filter(isMember).length} of ${cluster.chain_length}`],
    ['acknowledged', cluster.acknowledged && grouped(cluster.acknowledged)],
    ['manager', cluster.leader],
  ];
  byId('facts').replaceChildren(...facts.filter(([, value]) => value).map(([name, value]) =>
    element('div', {}, element('dt', {}, name), element('dd', {}, String(value)))));
  byId('cluster').textContent = `Kamino: ${cluster.cluster_id}`;
  document.title = `Kamino: ${cluster.cluster_id}`;
}

function drawRemarks(cluster) {
  const remarks = [];
  const well = cluster.nodes.filter((each) => isMember(each) && each.alive && !each.suspect).length;
  if (number(cluster.view_id) && well < cluster.chain_length) {
    // Members that go on are to be one more than may be lost; in mode kamino two.
    const spare = Math.max(0, well - (cluster.chain_mode === 'CHAIN_MODE_KAMINO' ? 2 : 1));
    remarks.push(`The chain is short: ${well} of ${counted(cluster.chain_length, 'member')} are well. ` +
      `It survives ${spare ? counted(spare, 'more failure') : 'no more failure'}.`);
  }
  if (cluster.waiting_for.length) remarks.push(`The chain waits for ${cluster.waiting_for.join(' or ')}.`);
  for (const why of [cluster.store_behind, cluster.waits_for_newer]) if (why) remarks.push(why);
  if (number(cluster.nodes_missing)) remarks.push(`The chain forms once ${cluster.nodes_missing} more fresh nodes are there.`);
  for (const each of cluster.refused) remarks.push(`Node ${each.node_id} was refused ${seconds(number(each.ms_ago))} ago: ${each.why}`);
  if ((cluster.not_finalized || []).length) remarks.push(`Not in force until kamino admin finalize: ${cluster.not_finalized.map((each) => (number(each.to) < number(each.from) ? 'the withdrawal of ' : '') + each.name).join(', ')}.`);
  byId('remarks').replaceChildren(...remarks.map((text) => element('li', {}, text)));
}

// Only what has moved is moved: the focus stays where it is.
function arrange(list, places) {
  places.forEach((place, i) => {
    if (list.children[i] !== place) list.insertBefore(place, list.children[i] || null);
  });
  while (list.children.length > places.length) list.lastChild.remove();
}

function placeOf(card, linked) {
  if (card.place.firstChild !== card.button) card.place.prepend(card.button);
  if (linked && card.link.parentNode !== card.place) card.place.append(card.link);
  if (!linked) card.link.remove();
  return card.place;
}

function drawChain(cluster, statuses, now) {
  const members = cluster.nodes.filter(isMember);
  const others = cluster.nodes.filter((each) => !isMember(each));
  fitWindow(members);
  const focused = document.activeElement && document.activeElement.dataset.node;
  for (const node of cluster.nodes) drawNode(node, statuses[node.member.node_id], now);
  arrange(byId('chain'), members.map((node, i) => {
    const card = cards.get(node.member.node_id);
    if (i + 1 < members.length) drawLink(node, members[i + 1], statuses);
    return placeOf(card, i + 1 < members.length);
  }));
  arrange(byId('others'), others.map((node) => {
    return placeOf(cards.get(node.member.node_id), false);
  }));
  byId('others-section').hidden = others.length === 0;
  const ids = new Set(cluster.nodes.map((each) => each.member.node_id));
  for (const id of [...cards.keys()]) if (!ids.has(id)) cards.delete(id);
  if (focused && cards.has(focused) && !byId('more').open) cards.get(focused).button.focus();
}

function drawEvents(events) {
  const list = byId('events');
  const drawn = list.dataset.last || '0';
  for (const event of events) {
    if (number(event.number) <= number(drawn)) continue;
    const at = new Date(heardAt - number(event.ms_ago));
    list.prepend(element('li', {}, element('time', {datetime: at.toISOString()}, at.toLocaleTimeString()), event.text));
    list.dataset.last = event.number;
  }
  while (list.children.length > 200) list.lastChild.remove();
}

// --- One node in full.

// "CONDITION_SOUND" of a condition is "sound".
const enumWord = (name, constant) =>
  words(constant, `${String(name).toUpperCase().replaceAll(' ', '_')}_`);

function rowsOf(value, path, rows) {
  if (value === null || typeof value !== 'object') {
    const text = String(value);
    rows.push([path.join(' '), /^[A-Z]+(_[A-Z]+)+$/.test(text) ? enumWord(path.at(-1), text) : text]);
  } else if (Array.isArray(value)) {
    value.forEach((each, i) => rowsOf(each, [...path, each.peer || each.method || i + 1], rows));
  } else {
    for (const [key, each] of Object.entries(value)) rowsOf(each, [...path, key.replaceAll('_', ' ')], rows);
  }
  return rows;
}

function fillDetails() {
  if (opened === null) return;
  const node = known.cluster.nodes.find((each) => each.member.node_id === opened);
  const rows = node ? rowsOf({address: node.member.address, report: node.report}, [], []) : [];
  rowsOf(known.nodes[opened] || {}, [], rows);
  byId('more-title').textContent = opened;
  byId('more-rows').replaceChildren(...rows.map(([name, value]) =>
    element('tr', {}, element('th', {scope: 'row'}, name), element('td', {}, value))));
}

function open(id) {
  opened = id;
  fillDetails();
  byId('more').showModal();
}
byId('more').addEventListener('close', () => {
  const card = cards.get(opened);
  opened = null;
  if (card) card.button.focus();
});

document.addEventListener('keydown', (event) => {
  const step = {ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1}[event.key];
  if (step === undefined || byId('more').open || document.activeElement === byId('events')) return;
  const buttons = [...document.querySelectorAll('button.node')];
  if (buttons.length === 0) return;
  const at = buttons.indexOf(document.activeElement);
  buttons[at < 0 ? 0 : Math.max(0, Math.min(buttons.length - 1, at + step))].focus();
  event.preventDefault();
});

// --- The way there and back.

function alarm(text) {
  byId('alarm').hidden = !text;
  document.querySelector('main').classList.toggle('old', Boolean(text));
  if (byId('alarm').textContent !== text) byId('alarm').textContent = text;
}

async function look() {
  const stop = new AbortController();
  const timer = setTimeout(() => stop.abort(), PATIENCE_MS);
  try {
    const answer = await fetch('chain.json', {signal: stop.signal, cache: 'no-store'});
    if (!answer.ok) throw new Error((await answer.text()).trim() || answer.statusText);
    known = await answer.json();
    heardAt = Date.now();
    if (known.error) return alarm(known.error);
    alarm('');
    drawFacts(known.cluster);
    drawRemarks(known.cluster);
    drawChain(known.cluster, known.nodes, heardAt);
    drawEvents(known.events);
    fillDetails();
  } catch (error) {
    const old = heardAt ? `; what is below is ${seconds(Date.now() - heardAt)} old` : '';
    alarm(`The manager does not answer (${error.name === 'AbortError' ? 'timeout' : error.message})${old}.`);
  } finally {
    clearTimeout(timer);
  }
}

async function run() {
  for (;;) {
    await look();
    await new Promise((done) => setTimeout(done, POLL_MS));
  }
}
run();
