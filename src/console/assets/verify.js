'use strict';
/*
 * Checks proofs and exports in the browser. Written from docs/audit.md and RFC 6962 alone; shares no code with the
 * service. What cannot be checked counts as wrong.
 */

const utf8 = (text) => new TextEncoder().encode(text);
const sha256 = async (bytes) => new Uint8Array(await crypto.subtle.digest('SHA-256', bytes));
const hex = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
const fromBase64 = (text) => Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
const same = (one, other) => one.length === other.length && one.every((byte, index) => byte === other[index]);

const joined = (...parts) => {
  const all = new Uint8Array(parts.reduce((length, part) => length + part.length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
};
const leafOf = (entry) => sha256(joined(Uint8Array.of(0), entry));
const nodeOf = (left, right) => sha256(joined(Uint8Array.of(1), left, right));

/** The root that a proof leads to from the leaf (RFC 9162, 2.1.3.2); null if it has too many or too few nodes. */
async function rootFrom(leaf, index, size, proof) {
  let [place, last, node] = [index, size - 1, leaf];
  if (index < 0 || index >= size) return null;
  for (const other of proof) {
    if (last === 0) return null;
    if (place % 2 === 1 || place === last) {
      node = await nodeOf(other, node);
      while (place % 2 === 0 && place !== 0) [place, last] = [Math.floor(place / 2), Math.floor(last / 2)];
    } else {
      node = await nodeOf(node, other);
    }
    [place, last] = [Math.floor(place / 2), Math.floor(last / 2)];
  }
  return last === 0 ? node : null;
}

/** The growing tree: one node for each complete subtree. */
class Tree {
  size = 0;
  nodes = [];

  async add(leaf) {
    let node = leaf;
    for (let rest = this.size; rest % 2 === 1; rest = Math.floor(rest / 2)) node = await nodeOf(this.nodes.pop(), node);
    this.nodes.push(node);
    this.size += 1;
  }

  async root() {
    let root = this.nodes.at(-1);
    for (const node of this.nodes.slice(0, -1).reverse()) root = await nodeOf(node, root);
    return root;
  }
}

/** Why a file does not hold; the page has the words. */
class Fault extends Error {
  constructor(name, ...values) {
    super(name);
    this.name = name;
    this.values = values;
  }
}

/** The checkpoint, if its signature by the key verifies. Throws otherwise. */
async function checkpointOf(note, keyText) {
  const [, name, id, encoded] = /^([^\s+]+)\+([0-9a-f]{8})\+([A-Za-z0-9+/=]{44})$/.exec(keyText.trim()) ?? [];
  if (!name) throw new Fault('no_key');
  const keyBytes = fromBase64(encoded);
  const expectedId = hex(await sha256(joined(utf8(`${name}\n`), keyBytes))).slice(0, 8);
  if (keyBytes[0] !== 1 || keyBytes.length !== 33 || expectedId !== id) throw new Fault('broken_key');
  const end = note.indexOf('\n\n');
  const text = note.slice(0, end + 1);
  const [origin, size, root] = text.split('\n');
  if (end < 0 || origin !== name || !/^(0|[1-9]\d{0,15})$/.test(size ?? '')) throw new Fault('other_checkpoint');
  const key = await crypto.subtle.importKey('raw', keyBytes.slice(1), 'Ed25519', false, ['verify']);
  for (const line of note.slice(end + 2).split('\n')) {
    const [, signer, signature] = /^\u2014 (\S+) ([A-Za-z0-9+/=]+)$/.exec(line) ?? [];
    if (signer !== name) continue;
    const bytes = fromBase64(signature);
    if (hex(bytes.slice(0, 4)) === id && (await crypto.subtle.verify('Ed25519', key, bytes.slice(4), utf8(text))))
      return { size: Number(size), root: fromBase64(root) };
  }
  throw new Fault('unsigned_checkpoint');
}

async function verifyProof(proof, key) {
  if (!proof.checkpoint) throw new Fault('not_covered');
  const checkpoint = await checkpointOf(proof.checkpoint.checkpoint, key);
  let before = null;
  for (const event of proof.events) {
    const [stream, revision, , type, , , , metadata] = JSON.parse(event.text);
    const entry = await sha256(utf8(event.text));
    const place = event.leaf_index + 1;
    if (stream !== `session-${proof.session_id}`) throw new Fault('other_payment', place);
    if (type !== event.type || revision !== event.revision || hex(entry) !== event.hash)
      throw new Fault('other_event', place);
    if (before && (revision <= before.revision || event.leaf_index <= before.leaf_index))
      throw new Fault('out_of_order', place);
    const whole = proof.proves?.kind === 'stream';
    if (whole && (revision !== (before?.revision ?? -1) + 1 || metadata.prev !== (before?.hash ?? '')))
      throw new Fault('missing_before', place);
    const root = await rootFrom(
      await leafOf(entry),
      event.leaf_index,
      checkpoint.size,
      event.inclusion_proof.map(fromBase64),
    );
    if (!root || !same(root, checkpoint.root)) throw new Fault('not_in_log', place);
    before = event;
  }
  if (!before || proof.proves?.events !== proof.events.length) throw new Fault('not_proven');
  return [
    proof.proves.kind === 'stream' ? 'whole_stream_holds' : 'proof_holds',
    proof.events.length,
    proof.session_id,
    checkpoint.size,
  ];
}

async function verifyExport(lines, key, kept, progress) {
  const expected = new Map();
  const note = async (text) => {
    const checkpoint = await checkpointOf(text, key);
    expected.set(checkpoint.size, checkpoint.root);
  };
  if (kept.trim() !== '') await note(`${kept.trim()}\n`);
  const events = lines.map((line) => JSON.parse(line));
  for (const event of events) if (event.type === 'CheckpointSigned') await note(JSON.parse(event.data).checkpoint);
  const tree = new Tree();
  const last = new Map();
  let compared = 0;
  for (const event of events) {
    const place = tree.size + 1;
    const head = JSON.stringify([event.stream, event.revision, event.id, event.type, event.version, event.at_ms]).slice(
      0,
      -1,
    );
    const entry = await sha256(utf8(`${head},${event.data},${event.metadata}]`));
    if (event.position !== tree.size + 1) throw new Fault('missing', place);
    if (hex(entry) !== event.hash) throw new Fault('changed', place);
    const before = last.get(event.stream);
    if (event.revision !== (before?.revision ?? -1) + 1 || JSON.parse(event.metadata).prev !== (before?.hash ?? ''))
      throw new Fault('does_not_follow', place, event.stream);
    last.set(event.stream, event);
    await tree.add(await leafOf(entry));
    const root = expected.get(tree.size);
    if (root && !same(root, await tree.root())) throw new Fault('other_history', place);
    if (root) compared += 1;
    if (tree.size % 5000 === 0) progress(tree.size, events.length);
  }
  const missing = [...expected.keys()].filter((size) => size > tree.size);
  if (missing.length > 0) throw new Fault('too_few', Math.max(...missing), tree.size);
  if (compared === 0) throw new Fault('no_checkpoint');
  return ['export_holds', tree.size, compared];
}

for (const form of document.querySelectorAll('form[data-verify]')) {
  const notice = form.querySelector('.notice');
  const problem = form.querySelector('.problem');
  const words = JSON.parse(form.dataset.words);
  const sentence = (name, values) => words[name].replaceAll(/\{(\d+)\}/g, (_, place) => values[place]);
  const say = (element, name, ...values) => {
    notice.hidden = problem.hidden = true;
    element.textContent = sentence(name, values);
    element.hidden = false;
  };
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    const { file, key, checkpoint } = form.elements;
    if (!file.files[0]) return say(problem, 'no_file');
    say(notice, 'reading');
    try {
      const text = await file.files[0].text();
      const lines = text.split('\n').filter((line) => line.trim() !== '');
      const isExport = lines.length > 0 && /^\{"position":/.test(lines[0]);
      const progress = (done, all) => say(notice, 'progress', done, all);
      const outcome = isExport
        ? verifyExport(lines, key.value, checkpoint.value, progress)
        : verifyProof(JSON.parse(text), key.value);
      say(notice, ...(await outcome));
    } catch (error) {
      say(problem, 'fault', error instanceof Fault ? sentence(error.name, error.values) : error.message);
    }
  });
}
