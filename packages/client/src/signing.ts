/*
 * Request and webhook signatures, built on Web Crypto alone, which Node 20+, Bun, Deno, edge runtimes and browsers
 * provide.
 */

const encoder = new TextEncoder();
const HMAC = { name: 'HMAC', hash: 'SHA-256' } as const;

type SigningKey = Awaited<ReturnType<typeof crypto.subtle.importKey>>;

/** Each secret is imported once, because importing a key costs more than signing. */
const importedKeys = new Map<string, Promise<SigningKey>>();
const MAX_KEPT_KEYS = 32;

function keyOf(secret: string): Promise<SigningKey> {
  let key = importedKeys.get(secret);
  if (key === undefined) {
    if (importedKeys.size >= MAX_KEPT_KEYS) importedKeys.clear();
    key = crypto.subtle.importKey('raw', encoder.encode(secret), HMAC, false, ['sign', 'verify']);
    importedKeys.set(secret, key);
  }
  return key;
}

/** `timestamp + "." + nonce + "." + body` as bytes. */
const signedBytes = (timestamp: string, nonce: string, body: string | Uint8Array): Uint8Array<ArrayBuffer> =>
  joined(`${timestamp}.${nonce}.`, body);

function joined(text: string, body: string | Uint8Array): Uint8Array<ArrayBuffer> {
  const prefix = encoder.encode(text);
  const content = typeof body === 'string' ? encoder.encode(body) : body;
  const bytes = new Uint8Array(prefix.length + content.length);
  bytes.set(prefix);
  bytes.set(content, prefix.length);
  return bytes;
}

/** HMAC-SHA256 of `timestamp.nonce.body` keyed with the secret, as 64 hex characters. */
export function sign(secret: string, timestamp: string, nonce: string, body: string | Uint8Array): Promise<string> {
  return hexMac(secret, signedBytes(timestamp, nonce, body));
}

/** The parts of a request that a version 2 signature covers. */
export interface RequestParts {
  readonly timestamp: string;
  readonly nonce: string;
  /** In upper case. */
  readonly method: string;
  /** Path and query, exactly as sent. */
  readonly target: string;
  readonly body: string | Uint8Array;
}

/** HMAC-SHA256 of `v2`, timestamp, nonce, method, target and body, joined by line feeds, as 64 hex characters. */
export function signRequest(secret: string, { timestamp, nonce, method, target, body }: RequestParts): Promise<string> {
  return hexMac(secret, joined(`v2\n${timestamp}\n${nonce}\n${method}\n${target}\n`, body));
}

async function hexMac(secret: string, bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  const mac = await crypto.subtle.sign(HMAC, await keyOf(secret), bytes);
  return Array.from(new Uint8Array(mac), (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** Whether `signature` (hex, either case) is correct; compares in constant time. */
export async function verifySignature(
  secret: string,
  signature: string,
  timestamp: string,
  nonce: string,
  body: string | Uint8Array,
): Promise<boolean> {
  if (!/^[0-9a-f]{64}$/i.test(signature)) return false;
  const mac = Uint8Array.from(signature.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
  return crypto.subtle.verify(HMAC, await keyOf(secret), mac, signedBytes(timestamp, nonce, body));
}
