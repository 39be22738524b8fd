import { createSecretKey, randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { z } from 'zod';
import { createClient, type Quittance, type WebhookEvent } from '../../packages/client/src/client.ts';
import { QuittanceError } from '../../packages/client/src/errors.ts';
import { InvalidConfig } from '../config.ts';
import type { JsonValue } from '../ports/read-model/read-model.ts';
import { signedHeaders } from '../features/webhooks/signing.ts';
import { SANDBOX_CASES } from '../http/schemas/sandbox.schema.ts';
import { must } from '../domain/values/must.ts';
import { NETWORKS } from '../domain/networks/networks.ts';
import { mustBe, oneOf } from '../domain/values/one-of.ts';

/** What a merchant's program needs to know. `webhookSecret` is absent if nothing is forwarded. */
export interface MerchantAccess {
  readonly baseUrl: string;
  readonly apiKey: string;
  readonly apiSecret: string;
  readonly webhookSecret: string | undefined;
  readonly headerPrefix: string;
}

/** The form of `sandbox.json`. */
const accessFile = z.object({
  base_url: z.string(),
  merchant: z.object({ api_key: z.string(), api_secret: z.string(), webhook_secret: z.string().optional() }),
});

type Environment = Readonly<Record<string, string | undefined>>;
const NAMES = ['QUITTANCE_URL', 'QUITTANCE_API_KEY', 'QUITTANCE_API_SECRET'] as const;

/**
 * From a file such as `sandbox.json`, otherwise from the environment; never from arguments, which every user of the
 * machine can read.
 */
export function readAccess(file: string | undefined, env: Environment): MerchantAccess {
  const headerPrefix = env['HEADER_PREFIX'] ?? 'X-Service-';
  if (file !== undefined) {
    const facts = accessFile.safeParse(jsonIn(file));
    if (!facts.success)
      throw new InvalidConfig(
        `--credentials: ${file} must hold base_url and merchant with api_key and api_secret, as sandbox.json does`,
      );
    const { base_url: baseUrl, merchant } = facts.data;
    return {
      baseUrl,
      apiKey: merchant.api_key,
      apiSecret: merchant.api_secret,
      webhookSecret: merchant.webhook_secret,
      headerPrefix,
    };
  }
  const missing = NAMES.filter((name) => !env[name]);
  if (missing.length > 0)
    throw new InvalidConfig(`set ${missing.join(', ')}, or pass a file with --credentials, such as data/sandbox.json`);
  const given = (name: (typeof NAMES)[number]): string => must(env[name]);
  return {
    baseUrl: given('QUITTANCE_URL'),
    apiKey: given('QUITTANCE_API_KEY'),
    apiSecret: given('QUITTANCE_API_SECRET'),
    webhookSecret: env['QUITTANCE_WEBHOOK_SECRET'],
    headerPrefix,
  };
}

function jsonIn(file: string): unknown {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch (error) {
    throw new InvalidConfig(`--credentials: ${file} cannot be read as JSON`, { cause: error });
  }
}

export interface ListenOptions {
  readonly forwardTo: string;
  /** Event types separated by commas; all if absent. */
  readonly events?: string;
  readonly say: (line: string) => void;
  /** Default: one second. */
  readonly pollMs?: number;
}

const FORWARD_TIMEOUT_MS = 30_000;

/** Forwards each new event to a URL like a webhook, in order and once each, starting with events from now on. */
export async function startListening(
  access: MerchantAccess,
  { forwardTo, events, say, pollMs = 1_000 }: ListenOptions,
): Promise<{ close(): Promise<void> }> {
  const { webhookSecret } = access;
  if (!URL.canParse(forwardTo) || !/^https?:$/.test(new URL(forwardTo).protocol))
    throw new InvalidConfig('--forward-to must be an http or https URL');
  if (!webhookSecret)
    throw new InvalidConfig('set QUITTANCE_WEBHOOK_SECRET: your receiver verifies forwarded events with it');
  const client = createClient(access);
  const ending = new AbortController();
  const filters = { page_size: 100, ...(events !== undefined && { type: events }) };
  let cursor = await endOfFeed(client);
  say(`listening; forwarding to ${forwardTo}`);

  const round = async (): Promise<void> => {
    for (let more = true; more && !ending.signal.aborted;) {
      const page = await client.events.after(cursor, filters, { signal: ending.signal });
      for (const event of page.data)
        say(
          `${event.type} ${event.id} -> ${await forwarded(event, forwardTo, { ...access, webhookSecret }, ending.signal)}`,
        );
      cursor = page.pagination.next_cursor;
      more = page.pagination.has_more;
    }
  };
  const listen = async (): Promise<void> => {
    while (!ending.signal.aborted) {
      await round().catch((error: unknown) =>
        ending.signal.aborted ? undefined : say(`the feed cannot be read: ${wordsOf(error)}`),
      );
      await pause(pollMs, undefined, { signal: ending.signal }).catch(() => undefined);
    }
  };
  const listening = listen();
  return {
    close: async () => {
      ending.abort();
      await listening;
    },
  };
}

/** Skips everything that happened before. */
async function endOfFeed(client: Quittance): Promise<string> {
  const fromNow = { page_size: 100, created_from: Math.floor(Date.now() / 1000) };
  for (let cursor = ''; ;) {
    const { data, pagination } = await client.events.after(cursor, fromNow);
    if (data.length > 0 || !pagination.has_more) return data.length > 0 ? cursor : pagination.next_cursor;
    cursor = pagination.next_cursor;
  }
}

async function forwarded(
  event: WebhookEvent,
  url: string,
  access: MerchantAccess & { readonly webhookSecret: string },
  signal: AbortSignal,
): Promise<string> {
  const body = JSON.stringify(event);
  const secret = createSecretKey(Buffer.from(access.webhookSecret));
  const flat = signedHeaders({
    prefix: access.headerPrefix,
    endpoint: { secret, nextSecret: null, standardWebhooks: true },
    eventType: event.type,
    eventId: event.id,
    body,
    nowMs: Date.now(),
    nonce: randomUUID(),
  });
  const headers = flat.flatMap((name, index): [string, string][] =>
    index % 2 === 0 ? [[name, must(flat[index + 1])]] : [],
  );
  try {
    const limits = AbortSignal.any([signal, AbortSignal.timeout(FORWARD_TIMEOUT_MS)]);
    const response = await fetch(url, { method: 'POST', headers, body, redirect: 'manual', signal: limits });
    await response.body?.cancel();
    return String(response.status);
  } catch (error) {
    return `no answer (${wordsOf(error)})`;
  }
}

const wordsOf = (error: unknown): string =>
  error instanceof QuittanceError || !(error instanceof Error)
    ? String(error)
    : String(error.cause instanceof Error ? error.cause.message : error.message);

const isNetwork = oneOf(NETWORKS);
const isCase = oneOf(SANDBOX_CASES);
const FURTHER_CASES = ['expired', 'cancelled'] as const;
const TRIGGER_CASES: readonly string[] = [...SANDBOX_CASES, ...FURTHER_CASES];

/** Creates a session in the sandbox and runs the case on it. */
export async function trigger(
  access: MerchantAccess,
  kind: string,
  network: string,
): Promise<{ readonly session_id: string; readonly case: string }> {
  if (!TRIGGER_CASES.includes(kind)) throw new InvalidConfig(`the case must be one of ${TRIGGER_CASES.join(', ')}`);
  if (!isNetwork(network)) throw new InvalidConfig(`--network must be one of ${NETWORKS.join(', ')}`);
  const client = createClient(access);
  const session = await client.sessions.create({
    amount: '10.00',
    currency: 'USD',
    order_id: `trigger-${randomUUID()}`,
  });
  if (kind === 'cancelled') await client.sessions.cancel(session.id);
  else if (kind === 'expired') await client.sandbox.advance(session.id);
  else await client.sandbox.pay(session.id, { network, case: mustBe(isCase, kind) });
  return { session_id: session.id, case: kind };
}

/** The merchant's latest requests, or the named one. */
export async function latestRequests(
  access: MerchantAccess,
  id: string | undefined,
  { status, limit }: { readonly status?: string; readonly limit: string },
): Promise<JsonValue> {
  if (!/^[1-9]\d{0,3}$/.test(limit)) throw new InvalidConfig('--limit must be a whole number from 1 to 9999');
  if (status !== undefined && !/^[1-5]\d\d$/.test(status))
    throw new InvalidConfig('--status must be an HTTP status such as 400');
  const client = createClient(access);
  if (id !== undefined) return { ...(await client.requests.get(id)) };
  const found: JsonValue[] = [];
  for await (const request of client.requests.all(status === undefined ? {} : { status: Number(status) })) {
    found.push({ ...request });
    if (found.length >= Number(limit)) break;
  }
  return found;
}
