import { createCipheriv, createDecipheriv, createHmac, createSecretKey, hkdfSync } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { randomBytesPooled } from './pooled-random.ts';

/*
 * Sealed text is `v1.<key id>.<nonce>.<ciphertext and tag>`, the last two in base64url: AES-256-GCM with a random 96-bit
 * nonce. The key id names the master key, so that keys can be rotated while old texts stay readable. The additional data
 * are the version, the key id and what the text was sealed for, so that a text moved elsewhere does not open.
 */

const VERSION = 'v1';
const KEY_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const KEY_ID_BYTES = 4;
const SEALED = /^v1\.([0-9a-f]{8})\.([\w-]{16})\.([\w-]{22,})$/;

/** A master key with the keys derived from it; nothing is ever sealed with the master key itself. */
export interface MasterKey {
  /** Eight hex digits, derived from the key, public. */
  readonly id: string;
  readonly material: KeyObject;
  readonly sealing: KeyObject;
  /** Keys the HMAC that gives each subject its data key. */
  readonly personal: KeyObject;
}

/** The first one seals, all of them open. */
export type MasterKeys = readonly [MasterKey, ...MasterKey[]];

/** Seals short secrets. `context` says what for: tenant, id, version and purpose. */
export interface Sealer {
  seal(plain: Uint8Array, context: string): string;
  /** Throws `CannotOpen`. */
  open(sealed: string, context: string): Uint8Array;
}

/** Seals the personal data of a subject, such as a session, under the subject's erasable salt. */
export interface PersonalSealer {
  seal(salt: Uint8Array, subject: string, plain: string): string;
  /** Throws `CannotOpen`. */
  open(salt: Uint8Array, subject: string, sealed: string): string;
}

/** The text was altered, moved, or sealed under a master key that is not configured. Never says more than its key id. */
export class CannotOpen extends Error {
  override readonly name = 'CannotOpen';
}

/** `MASTER_KEY` is not usable. The message never repeats it. */
export class InvalidMasterKey extends Error {
  override readonly name = 'InvalidMasterKey';
}

/**
 * Reads `MASTER_KEY`: one or more keys of 32 bytes, in hex or base64, separated by commas. The first one seals, so a new
 * key goes to the front and the old one stays behind it. Throws `InvalidMasterKey`.
 */
export function parseMasterKeys(text: string): MasterKeys {
  const [first, ...rest] = text.split(',').map((part) => masterKeyOf(decodeKey(part.trim())));
  if (first === undefined) throw new InvalidMasterKey('MASTER_KEY is empty');
  if (new Set([first, ...rest].map((key) => key.id)).size !== rest.length + 1) throw new InvalidMasterKey('MASTER_KEY names one key twice');
  return [first, ...rest];
}

function decodeKey(text: string): Buffer {
  const bytes = /^[0-9a-fA-F]{64}$/.test(text) ? Buffer.from(text, 'hex') : /^[\w+/-]{43}=?$/.test(text) ? Buffer.from(text, 'base64') : null;
  if (bytes?.length !== KEY_BYTES) throw new InvalidMasterKey('each key of MASTER_KEY must be 32 bytes, written as 64 hex digits or in base64');
  if (bytes.every((byte) => byte === bytes[0])) throw new InvalidMasterKey('MASTER_KEY must be random: try `openssl rand -hex 32`');
  return bytes;
}

export function masterKeyOf(bytes: Uint8Array): MasterKey {
  const material = createSecretKey(bytes);
  return {
    id: Buffer.from(hkdfSync('sha256', material, '', 'quittance/key-id/v1', KEY_ID_BYTES)).toString('hex'),
    material,
    sealing: derive(material, 'quittance/sealing/v1'),
    personal: derive(material, 'quittance/personal-data/v1'),
  };
}

export function createSealer(masterKeys: MasterKeys): Sealer {
  return {
    seal: (plain, context) => encrypt(masterKeys[0].id, masterKeys[0].sealing, plain, context),
    open: (sealed, context) => decrypt(sealed, (id) => keyOf(masterKeys, id).sealing, context),
  };
}

export function createPersonalSealer(masterKeys: MasterKeys): PersonalSealer {
  return {
    seal: (salt, subject, plain) => encrypt(masterKeys[0].id, personalDataKey(masterKeys[0], salt, subject), plain, `personal|${subject}`),
    open: (salt, subject, sealed) =>
      decrypt(sealed, (id) => personalDataKey(keyOf(masterKeys, id), salt, subject), `personal|${subject}`).toString('utf8'),
  };
}

/** The data key of one subject: useless without the master key, gone with the salt. One HMAC, since every session needs one. */
export function personalDataKey(masterKey: MasterKey, salt: Uint8Array, subject: string): KeyObject {
  if (salt.length !== KEY_BYTES) throw new RangeError(`a salt has ${KEY_BYTES} bytes`);
  // Ciphers take a key object in half the time they take bytes.
  return createSecretKey(createHmac('sha256', masterKey.personal).update(salt).update(subject).digest());
}

function derive(key: KeyObject, purpose: string): KeyObject {
  return createSecretKey(Buffer.from(hkdfSync('sha256', key, '', purpose, KEY_BYTES)));
}

function keyOf(masterKeys: MasterKeys, id: string): MasterKey {
  const key = masterKeys.find((candidate) => candidate.id === id);
  if (!key) throw new CannotOpen(`sealed under master key ${id}, which MASTER_KEY does not hold`);
  return key;
}

const base64url = (bytes: Uint8Array): string => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('base64url');

const additionalData = (keyId: string, context: string): Buffer => Buffer.from(`${VERSION}|${keyId}|${context}`, 'utf8');

/** Text is sealed as its UTF-8. */
function encrypt(keyId: string, key: KeyObject, plain: Uint8Array | string, context: string): string {
  const nonce = randomBytesPooled(NONCE_BYTES);
  const cipher = createCipheriv('aes-256-gcm', key, nonce);
  cipher.setAAD(additionalData(keyId, context));
  const text = typeof plain === 'string' ? cipher.update(plain, 'utf8') : cipher.update(plain);
  const body = Buffer.concat([text, cipher.final(), cipher.getAuthTag()]);
  return `${VERSION}.${keyId}.${base64url(nonce)}.${base64url(body)}`;
}

function decrypt(sealed: string, keyFor: (keyId: string) => KeyObject, context: string): Buffer {
  const [, keyId, nonce, body] = SEALED.exec(sealed) ?? [];
  if (keyId === undefined || nonce === undefined || body === undefined) throw new CannotOpen('not a sealed text of a known version');
  const bytes = Buffer.from(body, 'base64url');
  const decipher = createDecipheriv('aes-256-gcm', keyFor(keyId), Buffer.from(nonce, 'base64url'), { authTagLength: TAG_BYTES });
  decipher.setAAD(additionalData(keyId, context));
  decipher.setAuthTag(bytes.subarray(bytes.length - TAG_BYTES));
  try {
    return Buffer.concat([decipher.update(bytes.subarray(0, bytes.length - TAG_BYTES)), decipher.final()]);
  } catch {
    throw new CannotOpen(`altered, or sealed for something else (master key ${keyId})`);
  }
}
