import { createClient, type ClientOptions } from '@quittance/client';
import { ApiError } from '@quittance/client/errors';

/** `options` of the provider in `medusa-config.ts`. */
export interface QuittanceOptions {
  /** Address of the service, such as `https://pay.example`. */
  readonly baseUrl: string;
  /** `sk_test_...` or `sk_live_...`. */
  readonly apiKey: string;
  readonly apiSecret: string;
  /** While it is changed at the service: the old and the new one. */
  readonly webhookSecret: string | readonly string[];
  /** Where the payment page sends the customer; `{payment_session_id}` is put in. */
  readonly successUrl?: string;
  readonly cancelUrl?: string;
  /** Seconds to pay; by default what the account says. */
  readonly expiresIn?: number;
  readonly merchantDomainId?: string;
  /** Only where the installation has another one than `X-Service-`. */
  readonly headerPrefix?: string;
}

type Given = Partial<Record<string, unknown>>;

const NAMES: ReadonlySet<string> = new Set<keyof QuittanceOptions>([
  'baseUrl',
  'apiKey',
  'apiSecret',
  'webhookSecret',
  'successUrl',
  'cancelUrl',
  'expiresIn',
  'merchantDomainId',
  'headerPrefix',
]);
const TEXTS = ['successUrl', 'cancelUrl', 'merchantDomainId', 'headerPrefix'] as const;
/** For one request, and for all attempts at one at the start. */
const REQUEST_MS = 10_000;

const fault = (name: string, what: string): TypeError => new TypeError(`quittance: ${name} ${what}`);

/** Throws with the name of the option at fault, when Medusa starts. */
export function checkOptions(options: Given): QuittanceOptions {
  const unknown = Object.keys(options).find((name) => !NAMES.has(name));
  if (unknown !== undefined) throw fault(unknown, `is not an option; there are ${[...NAMES].join(', ')}`);
  const baseUrl = required(options, 'baseUrl');
  const apiKey = required(options, 'apiKey');
  const apiSecret = required(options, 'apiSecret');
  const webhookSecret = secretsIn(options['webhookSecret']);
  if (!/^sk_(test|live)_./.test(apiKey)) throw fault('apiKey', 'must begin with sk_test_ or sk_live_');
  const isTest = apiKey.startsWith('sk_test_');
  if (!isAddress(baseUrl, isTest))
    throw fault('baseUrl', 'must be an https address; with a test key also http to this machine');
  const texts: Partial<Record<(typeof TEXTS)[number], string>> = {};
  for (const name of TEXTS) {
    const value = options[name];
    if (value === undefined) continue;
    if (typeof value !== 'string' || value === '') throw fault(name, 'must be text');
    texts[name] = value;
  }
  for (const name of ['successUrl', 'cancelUrl'] as const)
    if (texts[name] !== undefined && !isAddress(texts[name].replaceAll('{payment_session_id}', 'id'), isTest))
      throw fault(name, 'must be an https address; with a test key also http to this machine');
  return { baseUrl, apiKey, apiSecret, webhookSecret, ...texts, ...expiryIn(options['expiresIn']) };
}

function required(options: Given, name: string): string {
  const value = options[name];
  if (typeof value !== 'string' || value === '') throw fault(name, 'is required');
  return value;
}

function secretsIn(given: unknown): readonly string[] {
  const secrets: readonly unknown[] = Array.isArray(given) ? given : [given];
  const texts = secrets.filter((secret): secret is string => typeof secret === 'string' && secret !== '');
  if (texts.length === 0 || texts.length < secrets.length) throw fault('webhookSecret', 'is required');
  return texts;
}

function expiryIn(seconds: unknown): { readonly expiresIn?: number } {
  if (seconds === undefined) return {};
  if (typeof seconds !== 'number' || !Number.isInteger(seconds) || seconds < 60 || seconds > 2_592_000)
    throw fault('expiresIn', 'must be a whole number of seconds from 60 to 2592000');
  return { expiresIn: seconds };
}

function isAddress(text: string, isTest: boolean): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, hostname } = new URL(text);
  const isLocal = ['localhost', '127.0.0.1', '[::1]'].includes(hostname);
  return protocol === 'https:' || (protocol === 'http:' && isLocal && isTest);
}

export function connectionOf({ baseUrl, apiKey, apiSecret, headerPrefix }: QuittanceOptions): ClientOptions {
  const prefix = headerPrefix === undefined ? undefined : { headerPrefix };
  return { baseUrl, apiKey, apiSecret, timeoutMs: REQUEST_MS, ...prefix };
}

/** Throws if the service is there and refuses them; what a restricted key may not read proves them, too. */
export async function checkCredentials(options: QuittanceOptions): Promise<void> {
  const quittance = createClient({ ...connectionOf(options), maxRetries: 0 });
  try {
    await quittance.merchant.get({ signal: AbortSignal.timeout(REQUEST_MS) });
  } catch (error) {
    if (error instanceof ApiError && error.status === 401)
      throw fault('apiKey or apiSecret', `is wrong: ${options.baseUrl} refused them`);
    if (error instanceof ApiError && error.code === 'unknown')
      throw fault('baseUrl', `is wrong: no Quittance answers at ${options.baseUrl} (HTTP ${error.status})`);
    if (!(error instanceof ApiError))
      process.emitWarning(`quittance: ${options.baseUrl} gave no answer: ${String(error)}`);
  }
}
