import { createCipheriv, createDecipheriv, createHmac, createSecretKey, hkdfSync, type KeyObject } from 'node:crypto';
import { randomBytesPooled } from './pooled-random.ts';
import { must } from '../../domain/values/must.ts';

/*
 * Sealed text is `v1.<key id>.<nonce>.<ciphertext and tag>`, the last two in base64url: AES-256-GCM with a random
 * 96-bit nonce. The key id allows keys to be rotated while old texts remain readable. The additional data is the
 * version, the key id and the context, so that a text moved elsewhere does not open.
 */

const VERSION = 'v1';
const KEY_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const KEY_ID_BYTES = 4;
const SEALED = /^v1\.([0-9a-f]{8})\.([\w-]{16})\.([\w-]{22,})$/;
const SEALED_WITHIN = /\bv1\.([0-9a-f]{8})\.[\w-]{16}\.[\w-]{22,}/g;

/** Kinds of secrets sealed with separate keys, so that a process can open only what its role needs. */
export const SEALED_KINDS = ['api-secrets', 'webhook-secrets', 'personal-data'] as const;
export type SealedKind = (typeof SEALED_KINDS)[number];
export type SecretKind = Exclude<SealedKind, 'personal-data'>;

/** The setting with the keys of each kind; `MASTER_KEY` replaces those that are not set. */
export const KEY_SETTINGS = {
  'api-secrets': 'API_SECRETS_KEY',
  'webhook-secrets': 'WEBHOOK_SECRETS_KEY',
  'personal-data': 'PERSONAL_DATA_KEY',
} as const satisfies Record<SealedKind, string>;

const WORDS: Readonly<Record<SealedKind, string>> = {
  'api-secrets': 'API secrets',
  'webhook-secrets': 'webhook secrets',
  'personal-data': 'personal data',
};

/** A key of one kind, derived from a key in the settings. It reveals neither that key nor the keys of other kinds. */
export interface SealingKey {
  /** Eight hex digits derived from the key; public. */
  readonly id: string;
  readonly material: KeyObject;
}

/** The first key seals; all of them open. */
export interface KeyList {
  /** The setting that they come from. */
  readonly setting: string;
  readonly keys: readonly [SealingKey, ...SealingKey[]];
}

/** The keys that a process holds; null for kinds without a key. */
export type SealingKeys = { readonly [kind in SealedKind]: KeyList | null };

/** Seals short secrets. `context` binds them to tenant, id, version and purpose. */
export interface Sealer {
  /** Throws `KeyNotHeld`. */
  seal(kind: SecretKind, plain: Uint8Array, context: string): string;
  /** Throws `CannotOpen`, and `KeyNotHeld`. */
  open(kind: SecretKind, sealed: string, context: string): Uint8Array;
  holds(kind: SecretKind): boolean;
}

/** Seals the personal data of a subject, such as a session, under the subject's erasable salt. */
export interface PersonalSealer {
  /** Throws `KeyNotHeld`. */
  seal(salt: Uint8Array, subject: string, plain: string): string;
  /** Throws `CannotOpen`, and `KeyNotHeld`. */
  open(salt: Uint8Array, subject: string, sealed: string): string;
}

/** The text was altered, moved, or sealed under a key that is not configured. Reveals only its key id. */
export class CannotOpen extends Error {
  override readonly name = 'CannotOpen';
}

/** This process does not have the key, because its role does not need it. */
export class KeyNotHeld extends Error {
  override readonly name = 'KeyNotHeld';
}

/** A key in the settings is invalid. The message never repeats it. */
export class InvalidMasterKey extends Error {
  override readonly name = 'InvalidMasterKey';
}

/**
 * Parses the keys of a kind: one or more of 32 bytes, in hex or base64, separated by commas. The first one seals, so a
 * new key is added in front and the old one stays behind it. Throws `InvalidMasterKey`.
 */
export function parseKeys(kind: SealedKind, setting: string, text: string): KeyList {
  const [first, ...rest] = text
    .split(',')
    .map((part) => derivedKey(kind, createSecretKey(decodeKey(setting, part.trim()))));
  if (first === undefined) throw new InvalidMasterKey(`${setting} is empty`);
  if (new Set([first, ...rest].map((key) => key.id)).size !== rest.length + 1)
    throw new InvalidMasterKey(`${setting} names one key twice`);
  return { setting, keys: [first, ...rest] };
}

export const keysByKind = (listOf: (kind: SealedKind) => KeyList | null): SealingKeys => ({
  'api-secrets': listOf('api-secrets'),
  'webhook-secrets': listOf('webhook-secrets'),
  'personal-data': listOf('personal-data'),
});

/** The same text for every kind. Throws `InvalidMasterKey`. */
export const parseMasterKeys = (text: string): SealingKeys => keysByKind((kind) => parseKeys(kind, 'MASTER_KEY', text));

function decodeKey(setting: string, text: string): Buffer {
  const bytes = /^[0-9a-fA-F]{64}$/.test(text)
    ? Buffer.from(text, 'hex')
    : /^[\w+/-]{43}=?$/.test(text)
      ? Buffer.from(text, 'base64')
      : null;
  if (bytes?.length !== KEY_BYTES)
    throw new InvalidMasterKey(`each key of ${setting} must be 32 bytes, written as 64 hex digits or in base64`);
  if (bytes.every((byte) => byte === bytes[0]))
    throw new InvalidMasterKey(`${setting} must be random: try \`openssl rand -hex 32\``);
  return bytes;
}

const derivedKey = (kind: SealedKind, given: KeyObject): SealingKey =>
  sealingKeyOf(derive(given, `quittance/${kind}/v1`).export());

/** A key of a kind from its own bytes, as the event log stores retired ones. */
export function sealingKeyOf(bytes: Uint8Array): SealingKey {
  const material = createSecretKey(bytes);
  return {
    id: Buffer.from(hkdfSync('sha256', material, '', 'quittance/key-id/v1', KEY_ID_BYTES)).toString('hex'),
    material,
  };
}

/** The keys of a kind. Throws `KeyNotHeld`. */
function held(keys: SealingKeys, kind: SealedKind): KeyList {
  const list = keys[kind];
  if (list) return list;
  throw new KeyNotHeld(
    `${KEY_SETTINGS[kind]} is not set: this process opens and seals no ${WORDS[kind]}; use a process that has it, such as one with the role api`,
  );
}

export function createSealer(keys: SealingKeys): Sealer {
  return {
    seal: (kind, plain, context) => sealWith(held(keys, kind), plain, context),
    open: (kind, sealed, context) => openWith(held(keys, kind), sealed, context),
    holds: (kind) => keys[kind] !== null,
  };
}

export function sealWith({ keys: [{ id, material }] }: KeyList, plain: Uint8Array, context: string): string {
  return encrypt(id, material, plain, context);
}

/** Throws `CannotOpen`. */
export function openWith(list: KeyList, sealed: string, context: string): Uint8Array {
  return decrypt(sealed, (id) => keyOf(list, id).material, context);
}

export const isSealedUnder = ({ id }: SealingKey, sealed: string): boolean => sealed.startsWith(`${VERSION}.${id}.`);

/** The key ids of all sealed texts within a text. */
export const keyIdsWithin = (text: string): string[] => [...text.matchAll(SEALED_WITHIN)].map(([, id]) => must(id));

export function createPersonalSealer(sealingKeys: SealingKeys): PersonalSealer {
  const list = (): KeyList => held(sealingKeys, 'personal-data');
  return {
    seal: (salt, subject, plain) => {
      const [first] = list().keys;
      return encrypt(first.id, personalDataKey(first, salt, subject), plain, `personal|${subject}`);
    },
    open: (salt, subject, sealed) =>
      decrypt(sealed, (id) => personalDataKey(keyOf(list(), id), salt, subject), `personal|${subject}`).toString(
        'utf8',
      ),
  };
}

/**
 * The data key of one subject: useless without the key of personal data, and gone with the salt. A single HMAC, because
 * every session needs one.
 */
export function personalDataKey({ material }: SealingKey, salt: Uint8Array, subject: string): KeyObject {
  if (salt.length !== KEY_BYTES) throw new RangeError(`a salt has ${KEY_BYTES} bytes`);
  // Ciphers accept a key object in half the time that bytes take.
  return createSecretKey(createHmac('sha256', material).update(salt).update(subject).digest());
}

/** A key for one purpose, which reveals neither the given one nor those for other purposes. */
export function derive(key: KeyObject, purpose: string): KeyObject {
  return createSecretKey(Buffer.from(hkdfSync('sha256', key, '', purpose, KEY_BYTES)));
}

function keyOf({ setting, keys }: KeyList, id: string): SealingKey {
  const key = keys.find((candidate) => candidate.id === id);
  if (!key) throw new CannotOpen(`sealed under the key ${id}, which ${setting} does not hold`);
  return key;
}

const base64url = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('base64url');

const additionalData = (keyId: string, context: string): Buffer =>
  Buffer.from(`${VERSION}|${keyId}|${context}`, 'utf8');

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
  if (keyId === undefined || nonce === undefined || body === undefined)
    throw new CannotOpen('not a sealed text of a known version');
  const bytes = Buffer.from(body, 'base64url');
  const decipher = createDecipheriv('aes-256-gcm', keyFor(keyId), Buffer.from(nonce, 'base64url'), {
    authTagLength: TAG_BYTES,
  });
  decipher.setAAD(additionalData(keyId, context));
  decipher.setAuthTag(bytes.subarray(bytes.length - TAG_BYTES));
  try {
    return Buffer.concat([decipher.update(bytes.subarray(0, bytes.length - TAG_BYTES)), decipher.final()]);
  } catch {
    throw new CannotOpen(`altered, or sealed for something else (key ${keyId})`);
  }
}
