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

/** Throws with the name of the option at fault, when Medusa starts. */
export function checkOptions(options: Partial<Record<keyof QuittanceOptions, unknown>>): void {
  for (const name of ['baseUrl', 'apiKey', 'apiSecret'] as const)
    if (typeof options[name] !== 'string' || options[name] === '')
      throw new TypeError(`quittance: ${name} is required`);
  const secrets: unknown = typeof options.webhookSecret === 'string' ? [options.webhookSecret] : options.webhookSecret;
  if (
    !Array.isArray(secrets) ||
    secrets.length === 0 ||
    secrets.some((secret) => typeof secret !== 'string' || secret === '')
  )
    throw new TypeError('quittance: webhookSecret is required');
  const key = options.apiKey as string;
  if (!/^sk_(test|live)_./.test(key)) throw new TypeError('quittance: apiKey must begin with sk_test_ or sk_live_');
  const url = URL.canParse(options.baseUrl as string) ? new URL(options.baseUrl as string) : null;
  const local = url !== null && ['localhost', '127.0.0.1', '[::1]'].includes(url.hostname);
  if (url === null || !(url.protocol === 'https:' || (url.protocol === 'http:' && local && key.startsWith('sk_test_'))))
    throw new TypeError('quittance: baseUrl must be an https address; with a test key also http to this machine');
  const { expiresIn } = options;
  if (
    expiresIn !== undefined &&
    !(typeof expiresIn === 'number' && Number.isInteger(expiresIn) && expiresIn >= 60 && expiresIn <= 2_592_000)
  )
    throw new TypeError('quittance: expiresIn must be a whole number of seconds from 60 to 2592000');
}
