import { createHmac, hash, type KeyObject } from 'node:crypto';

const BLOCK_BYTES = 64;
const DIGEST_BYTES = 32;
const INNER = 0x36;
const OUTER = 0x5c;
/** Longer texts are rare, and left to the runtime. */
const MAX_TEXT_BYTES = 16 * 1024;

/** The key as RFC 2104 mixes it in, ahead of the text and of the inner hash. */
interface Pads {
  readonly inner: Buffer;
  /** Followed by room for the inner hash. */
  readonly outer: Buffer;
}

const padsOf = new WeakMap<KeyObject, Pads>();
const scratch = Buffer.alloc(BLOCK_BYTES + MAX_TEXT_BYTES);

/**
 * HMAC-SHA256 of a text as UTF-8, hex (RFC 2104). Two hashes in one shot each take a third of the time of the runtime's
 * HMAC, whose object has to be made and collected for every text.
 */
export function hmacSha256Hex(key: KeyObject, text: string): string {
  if (text.length * 3 > MAX_TEXT_BYTES) return createHmac('sha256', key).update(text).digest('hex');
  let pads = padsOf.get(key);
  if (!pads) padsOf.set(key, (pads = mixIn(key.export())));
  const { inner, outer } = pads;
  inner.copy(scratch);
  const end = BLOCK_BYTES + scratch.write(text, BLOCK_BYTES);
  outer.write(hash('sha256', scratch.subarray(0, end), 'hex'), BLOCK_BYTES, 'hex');
  return hash('sha256', outer, 'hex');
}

function mixIn(secret: Buffer): Pads {
  const block = Buffer.alloc(BLOCK_BYTES);
  (secret.length > BLOCK_BYTES ? hash('sha256', secret, 'buffer') : secret).copy(block);
  const outer = Buffer.alloc(BLOCK_BYTES + DIGEST_BYTES);
  outer.set(block.map((byte) => byte ^ OUTER));
  const inner = Buffer.from(block.map((byte) => byte ^ INNER));
  block.fill(0);
  secret.fill(0);
  return { inner, outer };
}
