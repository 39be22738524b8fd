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

/** The checkpoint, if its signature by the key verifies. Throws otherwise. */
async function checkpointOf(note, keyText) {
  const [, name, id, encoded] = /^([^\s+]+)\+([0-9a-f]{8})\+([A-Za-z0-9+/=]{44})$/.exec(keyText.trim()) ?? [];
  if (!name) throw new Error('the public key is none: it looks like name+12345678+base64');
  const keyBytes = fromBase64(encoded);
  const expectedId = hex(await sha256(joined(utf8(`${name}\n`), keyBytes))).slice(0, 8);
  if (keyBytes[0] !== 1 || keyBytes.length !== 33 || expectedId !== id)
    throw new Error('the public key does not hold together');
  const end = note.indexOf('\n\n');
  const text = note.slice(0, end + 1);
  const [origin, size, root] = text.split('\n');
  if (end < 0 || origin !== name || !/^(0|[1-9]\d{0,15})$/.test(size ?? ''))
    throw new Error('the checkpoint is not one of this key');
  const key = await crypto.subtle.importKey('raw', keyBytes.slice(1), 'Ed25519', false, ['verify']);
  for (const line of note.slice(end + 2).split('\n')) {
    const [, signer, signature] = /^\u2014 (\S+) ([A-Za-z0-9+/=]+)$/.exec(line) ?? [];
    if (signer !== name) continue;
    const bytes = fromBase64(signature);
    if (hex(bytes.slice(0, 4)) === id && (await crypto.subtle.verify('Ed25519', key, bytes.slice(4), utf8(text))))
      return { size: Number(size), root: fromBase64(root) };
  }
  throw new Error('the checkpoint is not signed by this key');
}

async function verifyProof(proof, key) {
  if (!proof.checkpoint) throw new Error('no checkpoint covers the payment yet');
  const checkpoint = await checkpointOf(proof.checkpoint.checkpoint, key);
  let before = null;
  for (const event of proof.events) {
    const [stream, revision, , type, , , , metadata] = JSON.parse(event.text);
    const entry = await sha256(utf8(event.text));
    const name = `event ${event.leaf_index + 1} of the event log`;
    if (stream !== `session-${proof.session_id}`) throw new Error(`${name} is of another payment`);
    if (type !== event.type || revision !== event.revision || hex(entry) !== event.hash)
      throw new Error(`${name} is not what is said of it`);
    if (before && (revision <= before.revision || event.leaf_index <= before.leaf_index))
      throw new Error(`${name} is out of its order`);
    const whole = proof.proves?.kind === 'stream';
    if (whole && (revision !== (before?.revision ?? -1) + 1 || metadata.prev !== (before?.hash ?? '')))
      throw new Error(`events before ${name} are missing`);
    const root = await rootFrom(
      await leafOf(entry),
      event.leaf_index,
      checkpoint.size,
      event.inclusion_proof.map(fromBase64),
    );
    if (!root || !same(root, checkpoint.root))
      throw new Error(`${name} is not in the event log that the checkpoint signs`);
    before = event;
  }
  if (!before || proof.proves?.events !== proof.events.length)
    throw new Error('it does not hold the events that it says it proves');
  return `The proof holds: ${proof.events.length} events of ${proof.session_id} are in the event log of ${checkpoint.size} events that the key signed${
    proof.proves.kind === 'stream' ? ', and none of them is left out' : ''
  }.`;
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
    const name = `event ${tree.size + 1}`;
    const head = JSON.stringify([event.stream, event.revision, event.id, event.type, event.version, event.at_ms]).slice(
      0,
      -1,
    );
    const entry = await sha256(utf8(`${head},${event.data},${event.metadata}]`));
    if (event.position !== tree.size + 1) throw new Error(`${name} is missing`);
    if (hex(entry) !== event.hash) throw new Error(`${name} was changed: its hash is another`);
    const before = last.get(event.stream);
    if (event.revision !== (before?.revision ?? -1) + 1 || JSON.parse(event.metadata).prev !== (before?.hash ?? ''))
      throw new Error(`${name} does not follow the event before it in ${event.stream}`);
    last.set(event.stream, event);
    await tree.add(await leafOf(entry));
    const root = expected.get(tree.size);
    if (root && !same(root, await tree.root())) throw new Error(`history up to ${name} is not what was signed`);
    if (root) compared += 1;
    if (tree.size % 5000 === 0) progress(`${tree.size} of ${events.length} events …`);
  }
  const missing = [...expected.keys()].filter((size) => size > tree.size);
  if (missing.length > 0)
    throw new Error(`a checkpoint signs ${Math.max(...missing)} events, and only ${tree.size} are here`);
  if (compared === 0) throw new Error('no checkpoint signs any of it: paste the one that you keep');
  return `The export holds: ${tree.size} events, each unchanged and in its place, as ${compared} signed checkpoints say.`;
}

for (const form of document.querySelectorAll('form[data-verify]')) {
  const notice = form.querySelector('.notice');
  const problem = form.querySelector('.problem');
  const say = (element, text) => {
    notice.hidden = problem.hidden = true;
    element.textContent = text;
    element.hidden = false;
  };
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    const { file, key, checkpoint } = form.elements;
    if (!file.files[0]) return say(problem, 'Choose a file first.');
    say(notice, 'Reading …');
    try {
      const text = await file.files[0].text();
      const lines = text.split('\n').filter((line) => line.trim() !== '');
      const isExport = lines.length > 0 && /^\{"position":/.test(lines[0]);
      say(
        notice,
        isExport
          ? await verifyExport(lines, key.value, checkpoint.value, (words) => say(notice, words))
          : await verifyProof(JSON.parse(text), key.value),
      );
    } catch (error) {
      say(problem, `It does not hold: ${error.message}.`);
    }
  });
}
