import { createPublicKey, hash, verify } from 'node:crypto';
import { must } from '../../domain/values/must.ts';

/*
 * Checkpoints in the C2SP format (c2sp.org/tlog-checkpoint in a c2sp.org/signed-note): three lines, an empty line, and
 * a line for each signature. A key's name is the log's origin.
 */

export interface Checkpoint {
  /** Names the log and its signing key. */
  readonly origin: string;
  /** Number of leaves. */
  readonly size: number;
  readonly root: Buffer;
}

/** A public key in the form that auditors keep: `<name>+<key id>+<base64 of the algorithm byte and the key>`. */
export interface VerifierKey {
  readonly name: string;
  /** Four bytes in hex. */
  readonly id: string;
  /** 32 bytes, Ed25519. */
  readonly publicKey: Buffer;
}

export interface SignedCheckpoint extends Checkpoint {
  /** The signed text: everything before the empty line, including its last line break. */
  readonly text: string;
  readonly signatures: readonly NoteSignature[];
}

interface NoteSignature {
  readonly name: string;
  readonly keyId: string;
  readonly signature: Buffer;
}

const ED25519 = 1;
const SPKI_OF_ED25519 = Buffer.from('302a300506032b6570032100', 'hex');
const KEY_ID_BYTES = 4;
const HASH_TEXT = /^[A-Za-z0-9+/]{43}=$/;
const SIZE_TEXT = /^(0|[1-9]\d{0,15})$/;
const SIGNATURE_LINE = /^\u2014 (\S+) ([A-Za-z0-9+/]+={0,2})$/;

export const checkpointText = ({ origin, size, root }: Checkpoint): string =>
  `${origin}\n${size}\n${root.toString('base64')}\n`;

export function verifierKeyOf(name: string, publicKey: Uint8Array): VerifierKey {
  const id = hash(
    'sha256',
    Buffer.concat([Buffer.from(`${name}\n`), Buffer.from([ED25519]), publicKey]),
    'buffer',
  ).subarray(0, KEY_ID_BYTES);
  return { name, id: id.toString('hex'), publicKey: Buffer.from(publicKey) };
}

export const verifierKeyText = ({ name, id, publicKey }: VerifierKey): string =>
  `${name}+${id}+${Buffer.concat([Buffer.from([ED25519]), publicKey]).toString('base64')}`;

/** Null if the text is not a verifier key, or its id does not match name and key. */
export function parseVerifierKey(text: string): VerifierKey | null {
  const [, name, id, encoded] = /^([^\s+]+)\+([0-9a-f]{8})\+([A-Za-z0-9+/]{44})$/.exec(text.trim()) ?? [];
  if (name === undefined || encoded === undefined) return null;
  const bytes = Buffer.from(encoded, 'base64');
  if (bytes.length !== 33 || bytes[0] !== ED25519) return null;
  const key = verifierKeyOf(name, bytes.subarray(1));
  return key.id === id ? key : null;
}

/** The whole note, from its text and its Ed25519 signature (64 bytes). */
export const noteOf = (text: string, key: VerifierKey, signature: Uint8Array): string =>
  `${text}\n\u2014 ${key.name} ${Buffer.concat([Buffer.from(key.id, 'hex'), signature]).toString('base64')}\n`;

/** Null unless the text is one checkpoint with at least one signature. */
export function parseCheckpoint(note: string): SignedCheckpoint | null {
  const end = note.indexOf('\n\n');
  if (end < 0) return null;
  const text = note.slice(0, end + 1);
  const [origin, size, root] = text.split('\n');
  if (!origin || !SIZE_TEXT.test(size ?? '') || !HASH_TEXT.test(root ?? '')) return null;
  const signatures = signaturesIn(note.slice(end + 2));
  return signatures && { origin, size: Number(size), root: Buffer.from(must(root), 'base64'), text, signatures };
}

/** The checkpoints of one file in order; null if any part is not a checkpoint. */
export function parseCheckpoints(file: string): SignedCheckpoint[] | null {
  const notes = `${file.replaceAll('\r\n', '\n').trim()}\n`
    .split(/(?<=\n\u2014 [^\n]*\n)\n*(?!\u2014 )/u)
    .filter((note) => note.trim() !== '');
  const parsed = notes.map(parseCheckpoint);
  return parsed.length > 0 && parsed.every((one) => one !== null) ? parsed : null;
}

/** The signature lines of a witness's response; null if there is anything else, or nothing. */
export function signaturesIn(lines: string): NoteSignature[] | null {
  if (!lines.endsWith('\n')) return null;
  const found: NoteSignature[] = [];
  for (const line of lines.slice(0, -1).split('\n')) {
    const [, name, encoded] = SIGNATURE_LINE.exec(line) ?? [];
    const bytes = Buffer.from(encoded ?? '', 'base64');
    if (name === undefined || bytes.length <= KEY_ID_BYTES) return null;
    found.push({
      name,
      keyId: bytes.subarray(0, KEY_ID_BYTES).toString('hex'),
      signature: bytes.subarray(KEY_ID_BYTES),
    });
  }
  return found;
}

/** `unsigned`: there is no signature with this key. */
export type SignatureVerdict = 'valid' | 'invalid' | 'unsigned';

/** Ignores signatures by other keys, such as those of witnesses. */
export function verifySignature({ text, origin, signatures }: SignedCheckpoint, key: VerifierKey): SignatureVerdict {
  const ours = signatures.filter(({ name, keyId }) => name === key.name && keyId === key.id);
  if (ours.length === 0 || origin !== key.name) return 'unsigned';
  const publicKey = createPublicKey({
    key: Buffer.concat([SPKI_OF_ED25519, key.publicKey]),
    format: 'der',
    type: 'spki',
  });
  return ours.some(({ signature }) => verify(null, Buffer.from(text), publicKey, signature)) ? 'valid' : 'invalid';
}
