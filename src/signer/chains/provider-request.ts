import { Agent, request } from 'undici';

/* A module of its own, as undici takes a fifth of the signer's start and is needed with the first look at a chain. */

/** Limit for the whole response, so that a slow one does not block the signer. */
const TIMEOUT_MS = 8_000;
/** The largest legitimate response is the receipt of a transaction with some thousand logs. */
const MAX_ANSWER_BYTES = 8 * 1024 * 1024;
const providers = new Agent({ maxResponseSize: MAX_ANSWER_BYTES, connectTimeout: TIMEOUT_MS });

export const post = (url: string, headers: Readonly<Record<string, string>>, body: string) =>
  request(url, { method: 'POST', headers, body, dispatcher: providers, signal: AbortSignal.timeout(TIMEOUT_MS) });
