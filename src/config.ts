import { isAbsolute, resolve } from 'node:path';
import { z } from 'zod';
import { MAX_CHANGE_DELAY_MIN } from './domain/change-delay.ts';
import { isFiat } from './domain/money/currencies.ts';
import { COINS } from './domain/money/money.ts';
import { NETWORKS } from './domain/networks/networks.ts';
import { must } from './domain/values/must.ts';

/**
 * Every setting of the service, read from the environment once. All are optional in the sandbox; `quittance serve`
 * checks the requirements of production in `src/production-checks.ts`.
 */

const whole = z.coerce
  .number({ error: ({ code }) => (code === 'invalid_type' ? 'must be a whole number' : undefined) })
  .int();
const port = whole.min(0).max(65_535);
const seconds = whole.min(1).max(30 * 86_400);
const list = z.string().transform((text) =>
  text
    .split(',')
    .map((item) => item.trim())
    .filter(Boolean),
);
const flag = z.stringbool();
const AMOUNT = /^(0|[1-9]\d{0,11})(\.\d{1,6})?$/;
const url = z.url({ protocol: /^https?$/ });
/** Pages, their scripts and the signed paths of requests all start at the root of the host. */
const rootUrl = url.refine((text) => {
  const parsed = URL.parse(text);
  return parsed === null || parsed.href === `${parsed.origin}/`;
}, 'must be a URL without a path, such as https://pay.example: give the service a host of its own');

const ROLES = ['api', 'worker', 'signer'] as const;
export const RATE_PROVIDERS = ['static', 'coinbase', 'kraken', 'coingecko'] as const;
export type RateProviderName = (typeof RATE_PROVIDERS)[number];
/** Names of the risks that an operator can accept (`src/settings/risks.ts`). */
export const RISKS = [
  ...(['early-finality', 'wide-tolerance', 'single-provider', 'late-second-source', 'ignored-payments'] as const),
  ...(['payouts-without-approval', 'native-coin-limits', 'books-not-compared'] as const),
  ...(['old-rates', 'rare-checkpoints'] as const),
] as const;
export type RiskName = (typeof RISKS)[number];

const rpcUrls = {
  ETHEREUM_RPC_URLS: list.optional(),
  BSC_RPC_URLS: list.optional(),
  TRON_API_URLS: list.optional(),
  SOLANA_RPC_URLS: list.optional(),
  TEST_ETHEREUM_RPC_URLS: list.optional(),
  TEST_BSC_RPC_URLS: list.optional(),
  TEST_TRON_API_URLS: list.optional(),
  TEST_SOLANA_RPC_URLS: list.optional(),
};

/** A test network that differs from the built-in one, by network name. */
const testNetworks = z.partialRecord(
  z.enum(NETWORKS),
  z.strictObject({
    chain_id: z.string().min(1),
    tokens: z
      .array(
        z.strictObject({ coin: z.enum(COINS), address: z.string().min(1), decimals: z.number().int().min(0).max(18) }),
      )
      .min(1),
    explorer_url: z.string().includes('{hash}').optional(),
  }),
);

const jsonText = z.string().transform((text, context): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    context.addIssue('must be JSON');
    return z.NEVER;
  }
});

const payoutAmount = z.string().regex(/^(0|[1-9]\d{0,11})(\.\d{1,18})?$/);
const payoutLimits = z.partialRecord(
  z.enum(COINS),
  z.strictObject({
    perTransaction: payoutAmount,
    perHour: payoutAmount,
    perDay: payoutAmount,
    approvalFrom: payoutAmount,
  }),
);
const treasuryLimits = z.partialRecord(
  z.enum(COINS),
  z.strictObject({ perTransaction: payoutAmount, perDay: payoutAmount }),
);
const nativeLimit = z.strictObject({
  perTransaction: payoutAmount.exactOptional(),
  perHour: payoutAmount.exactOptional(),
  perDay: payoutAmount.exactOptional(),
  ...{ maxGasPriceGwei: payoutAmount.exactOptional(), maxPriorityFeeGwei: payoutAmount.exactOptional() },
  maxPriorityFeeMicroLamports: z
    .string()
    .regex(/^(0|[1-9]\d{0,17})$/)
    .exactOptional(),
});
const destinations = z.partialRecord(z.enum(NETWORKS), z.array(z.string().min(1).max(64)).max(100));
const withdrawalAddresses = z.strictObject({ live: destinations.exactOptional(), test: destinations.exactOptional() });
const approver = {
  name: z.string().regex(/^[A-Za-z0-9][A-Za-z0-9 ._-]{0,63}$/),
  publicKey: z.string().regex(/^[A-Za-z0-9_-]{16,4096}$/),
};
const approvers = z
  .array(
    z.discriminatedUnion('kind', [
      z.strictObject({ ...approver, kind: z.literal('ed25519') }),
      z.strictObject({
        ...approver,
        kind: z.literal('webauthn'),
        credentialId: approver.publicKey,
        rpId: z.hostname(),
        origin: z.url(),
      }),
    ]),
  )
  .max(100);

const environment = z.object({
  /** Port of the merchant API and the payment page. */
  PORT: port.default(8080),
  HOST: z.string().default('127.0.0.1'),
  /** Port of `/metrics`, `/healthz`, `/readyz`; always on `HOST`. */
  OPS_PORT: port.default(9464),
  /** The public address of the service for payers and merchants; https in production (TLS ends at a proxy). */
  PUBLIC_URL: rootUrl.optional(),
  /** Port of the console for people. Unset: 8082 in the sandbox, none elsewhere. */
  CONSOLE_PORT: port.optional(),
  /** The public address of the console: its own host, https in production. */
  CONSOLE_URL: rootUrl.optional(),
  /** Address of an OpenID provider, with which people can sign in to the console by single sign-on. */
  CONSOLE_SSO_ISSUER: url.optional(),
  CONSOLE_SSO_CLIENT_ID: z.string().min(1).max(500).optional(),
  CONSOLE_SSO_CLIENT_SECRET: z.string().min(1).max(1000).optional(),
  CONSOLE_SSO_SCOPE: z
    .string()
    .regex(/^openid( [\x21-\x7e]+)*$/, 'must be scopes with blanks between, openid the first')
    .default('openid profile'),
  /** The claims of the ID token that contain a person's name and roles. */
  CONSOLE_SSO_NAME_CLAIM: z.string().min(1).max(200).default('preferred_username'),
  CONSOLE_SSO_ROLES_CLAIM: z.string().min(1).max(200).default('roles'),
  /**
   * The roles that each value of that claim, such as a group, maps to, as JSON; unset: the values are roles themselves.
   */
  CONSOLE_SSO_ROLES: jsonText.pipe(z.record(z.string().min(1), z.string().min(1))).optional(),
  /** Number of reverse proxies whose `X-Forwarded-For` is trusted. */
  TRUSTED_PROXIES: whole.min(0).max(10).default(0),
  DATA_DIR: z.string().min(1).default('./data'),
  ROLES: list.pipe(z.array(z.enum(ROLES)).min(1)).default(['api', 'worker', 'signer']),
  /** `esdb://...`; unset: the embedded store. */
  EVENTSTORE_URL: z.string().optional(),
  /** The same servers, with the user that may only erase keys of personal data: used by `quittance forget` only. */
  EVENTSTORE_ERASER_URL: z.string().optional(),
  /** `redis://`, `redis+cluster://` or `redis+sentinel://` (`src/adapters/redis/url.ts`); unset: embedded. */
  REDIS_URL: z.string().optional(),
  /**
   * One Redis server that writes every command to disk before it answers (`appendfsync always`), so that restarts lose
   * no nonces.
   */
  REDIS_SURVIVES_RESTARTS: flag.default(false),
  /**
   * 32 bytes in hex or base64; several comma-separated: the first seals, all open. Replaces each of the next three that
   * is unset. Sandbox: generated in `DATA_DIR`.
   */
  MASTER_KEY: z.string().optional(),
  /**
   * Seal what one role needs and the others do not; same format as `MASTER_KEY` (`src/settings/sealing-keys.ts`).
   */
  API_SECRETS_KEY: z.string().optional(),
  WEBHOOK_SECRETS_KEY: z.string().optional(),
  PERSONAL_DATA_KEY: z.string().optional(),
  /** Number of this node, 0 to 999, different on every node: keeps event ids unique. */
  NODE_NUMBER: whole.min(0).max(999).default(0),
  /** The local chains of the sandbox; each needs time to start, a process and memory. */
  SANDBOX_NETWORKS: list.pipe(z.array(z.enum(NETWORKS)).min(1)).default([...NETWORKS]),
  WALLET_XPUB_EVM: z.string().optional(),
  WALLET_XPUB_TRON: z.string().optional(),
  WALLET_SOLANA_POOL: z.string().optional(),
  TEST_WALLET_XPUB_EVM: z.string().optional(),
  TEST_WALLET_XPUB_TRON: z.string().optional(),
  TEST_WALLET_SOLANA_POOL: z.string().optional(),
  /** Modes whose keys no signer of this installation holds: their addresses are assigned without confirmation. */
  WATCH_ONLY: list.pipe(z.array(z.enum(['live', 'test']))).default([]),
  /** The longest wait for an unreachable network before a session expires anyway. */
  EXPIRY_MAX_WAIT_SECONDS: seconds.default(600),
  /** Requests per second per API key; the burst is five times that. 0 disables the limit. */
  RATE_LIMIT_PER_KEY: whole.min(0).default(100),
  /** Requests per second without a valid key, by client address; the burst is five times that. 0 disables the limit. */
  RATE_LIMIT_PER_ADDRESS: whole.min(0).default(200),
  /** Simultaneous connections to the public port; further ones are closed at once. */
  MAX_CONNECTIONS: whole.min(1).default(25_000),
  ADMIN_PORT: port.optional(),
  ...rpcUrls,
  TRON_API_KEY: z.string().optional(),
  /** JSON by network: `{"bsc":{"chain_id":"97","tokens":[{"coin":"USDT","address":"0x...","decimals":18}]}}`. */
  TEST_NETWORKS: jsonText.pipe(testNetworks).optional(),
  /**
   * Amount in units of a coin from which a second provider must report the same transfer, and call it final, before it
   * counts. Unset: 100 on live networks with two providers of different hosts; 0: every payment.
   */
  SECOND_SOURCE_FROM: z.string().regex(AMOUNT).optional(),
  SESSION_TTL_SECONDS: seconds.default(1800),
  RATE_PROVIDERS: list.pipe(z.array(z.enum(RATE_PROVIDERS)).min(1)).optional(),
  /** Units of the coin per unit of each currency. */
  RATE_STATIC: z
    .string()
    .default(
      'USD=1.0002,EUR=1.08,CNY=0.139,GBP=1.27,CHF=1.13,JPY=0.0067,KRW=0.00072,HKD=0.128,TWD=0.031,SGD=0.75,AUD=0.66,NZD=0.61,CAD=0.73,INR=0.012,IDR=0.000063,THB=0.029,VND=0.00004,PHP=0.0175,MYR=0.22,AED=0.272,SAR=0.267,TRY=0.029,BRL=0.18,MXN=0.055,ZAR=0.055,NGN=0.00063,PLN=0.25,CZK=0.043,SEK=0.095,NOK=0.093,DKK=0.145',
    ),
  RATE_COINBASE_URL: url.optional(),
  RATE_KRAKEN_URL: url.optional(),
  RATE_COINGECKO_URL: url.optional(),
  RATE_MAX_AGE_SECONDS: seconds.default(300),
  /**
   * Currency of the daily rates that are recorded for the coins in the books. Unset: none are recorded automatically.
   */
  BOOK_RATES_CURRENCY: z.string().refine(isFiat, 'must be an ISO 4217 code such as EUR').optional(),
  /** How often missing daily rates are requested. */
  BOOK_RATES_EVERY_SECONDS: seconds.default(600),
  /** Decimals to which a converted amount is rounded up. */
  CONVERSION_DECIMALS: whole.min(0).max(6).default(2),
  /** Units of a coin; smaller transfers never change a state. */
  DUST_LIMIT: z.string().regex(AMOUNT).default('0.01'),
  /**
   * The fewest confirmations on Ethereum with which any merchant's policy lets a payment count. More than 96 have no
   * effect: it is final by then.
   */
  ETHEREUM_MIN_CONFIRMATIONS: whole.min(1).max(96).default(12),
  /**
   * Amount in units of a coin from which every payment on Ethereum waits for finality, whatever a merchant's policy
   * says. 0: every payment.
   */
  ETHEREUM_FINALIZED_FROM_MAX: z.string().regex(AMOUNT).default('10000'),
  /** How long a person of the console can refuse the recovery of their access before it can be completed. */
  RECOVERY_DELAY_HOURS: whole.min(24).max(720).default(72),
  CHANGE_DELAY_MINUTES: whole.min(0).max(MAX_CHANGE_DELAY_MIN).default(0),
  /** The largest share of the amount due that a merchant's tolerance may let be missing. */
  TOLERANCE_MAX_PERCENT: whole.min(0).max(50).default(5),
  /** Units of a coin; the most that a merchant's tolerance may let be missing. */
  TOLERANCE_MAX: z.string().regex(AMOUNT).default('100'),
  /** Risks of live mode that are taken knowingly, by name; each is shown for as long as the settings take it. */
  ACCEPT_RISKS: list.pipe(z.array(z.enum(RISKS))).default([]),
  /** The directory of the signer's payout journal, outside `DATA_DIR`. Sandbox: `<DATA_DIR>-signer`. */
  SIGNER_JOURNAL_DIR: z
    .string()
    .min(1)
    .transform((path) => resolve(path))
    .optional(),
  /** Socket of a signer run by another user (`quittance signer`), and the file with their shared secret. */
  SIGNER_SOCKET: z.string().min(1).max(100).optional(),
  SIGNER_SECRET_FILE: z.string().min(1).optional(),
  /**
   * JSON by coin: `{"USDT":{"perTransaction":"1000","perHour":"5000","perDay":"20000","approvalFrom":"500"}}`. Unset in
   * production: nothing is paid out.
   */
  PAYOUT_LIMITS: jsonText.pipe(payoutLimits).optional(),
  /** The most payouts of one mode within an hour. */
  PAYOUTS_PER_HOUR: whole.min(0).optional(),
  /**
   * JSON list of the output of `quittance approver enroll`, and of passkeys: two of them, neither the proposer, approve
   * what needs approval.
   */
  PAYOUT_APPROVERS: jsonText.pipe(approvers).optional(),
  /** A checkpoint of the event log is signed after this many events, or when anything new is this old. */
  AUDIT_CHECKPOINT_EVENTS: whole.min(1).default(10_000),
  AUDIT_CHECKPOINT_SECONDS: seconds.default(60),
  /** A witness that cosigns checkpoints (c2sp.org/tlog-witness), without `/add-checkpoint`. */
  AUDIT_WITNESS_URL: url.optional(),
  /**
   * JSON by coin, for withdrawals and settlements: `{"USDT":{"perTransaction":"50000","perDay":"100000"}}`. Unset in
   * production: none.
   */
  TREASURY_LIMITS: jsonText.pipe(treasuryLimits).optional(),
  /**
   * JSON by network, for the native coin, fees included; unnamed networks use the defaults of
   * `src/domain/networks/native-limits.ts`.
   */
  NATIVE_LIMITS: jsonText.pipe(z.partialRecord(z.enum(NETWORKS), nativeLimit)).optional(),
  /** JSON by mode and network: the cold addresses allowed for withdrawals, `{"live":{"ethereum":["0x..."]}}`. */
  WITHDRAWAL_ADDRESSES: jsonText.pipe(withdrawalAddresses).optional(),
  /** Amount in units of a coin at which a collection address is swept automatically; unset: on command only. */
  SWEEP_FROM: z.string().regex(AMOUNT).optional(),
  /** Seconds between two comparisons of the books with the chain; 0: on command only. */
  RECONCILE_EVERY_SECONDS: whole.min(0).default(3600),
  /** Ethereum and BSC: how long a payout may wait for a block before its fee is raised on the same nonce. */
  PAYOUT_BUMP_AFTER_SECONDS: seconds.default(90),
  /** Gwei per unit of gas above which EVM payouts wait. */
  PAYOUT_MAX_GAS_GWEI: whole.min(1).max(2_000).default(300),
  /** File with the operator's own list of exchange wallets: JSON by network, `{"ethereum":{"0x...":"Name"}}`. */
  EXCHANGE_WALLETS_FILE: z.string().optional(),
  /** Allows http and private addresses for webhooks. Sandbox: true. */
  WEBHOOK_ALLOW_INSECURE: flag.optional(),
  /**
   * Canary payments: the output of `quittance merchant create --json` for a separate merchant. Unset: none are made.
   */
  CANARY_MERCHANT_FILE: z.string().min(1).optional(),
  /** Keystore of a separate wallet, filled by hand with a small amount. */
  CANARY_KEYSTORE: z.string().min(1).optional(),
  CANARY_KEYSTORE_PASSPHRASE_FILE: z.string().min(1).optional(),
  CANARY_NETWORKS: list.pipe(z.array(z.enum(NETWORKS)).min(1)).optional(),
  CANARY_COIN: z.enum(COINS).default('USDT'),
  /** Units of the coin. */
  CANARY_AMOUNT: z.string().regex(AMOUNT).default('1'),
  /** Units of the coin that may be paid within a day and not returned, per network. */
  CANARY_MAX_OUT: z.string().regex(AMOUNT).default('3'),
  CANARY_EVERY_SECONDS: seconds.default(3600),
  /** Folder or `s3://bucket/prefix` to which the event log is shipped as it is written; unset: nowhere. */
  LOG_SHIPPING_TO: z.string().min(1).optional(),
  LOG_SHIPPING_EVERY_SECONDS: seconds.default(2),
  /** Unset: the AWS endpoint of the region. */
  LOG_SHIPPING_S3_ENDPOINT: url.optional(),
  LOG_SHIPPING_S3_REGION: z
    .string()
    .regex(/^[a-z0-9-]{1,40}$/)
    .default('us-east-1'),
  LOG_SHIPPING_S3_ACCESS_KEY_ID: z.string().min(1).optional(),
  LOG_SHIPPING_S3_SECRET_ACCESS_KEY: z.string().min(1).optional(),
  /**
   * Folder in which processes on shared servers store snapshots of their look-ups, to start from; unset: look-ups are
   * built from the event log.
   */
  LOOK_UP_SNAPSHOT_DIR: z
    .string()
    .min(1)
    .transform((path) => resolve(path))
    .optional(),
  LOOK_UP_SNAPSHOT_EVERY_SECONDS: seconds.default(21_600),
  /** How long after its end the look-ups of a session move to the monthly archive file; unset: never. */
  LOOK_UP_ARCHIVE_AFTER_DAYS: whole.min(1).max(36_500).optional(),
  HEADER_PREFIX: z
    .string()
    .regex(/^[A-Za-z][A-Za-z0-9-]{0,38}-$/, 'must end with a hyphen, for example X-Service-')
    .default('X-Service-'),
  OTEL_EXPORTER_OTLP_ENDPOINT: url.optional(),
  LOG_LEVEL: z.enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']).default('info'),
});

type Environment = z.infer<typeof environment>;

export type Config = Omit<Environment, 'DATA_DIR'> & {
  readonly DATA_DIR: string;
};

/** The environment does not describe a service that can run. The message names each variable. */
export class InvalidConfig extends Error {
  override readonly name = 'InvalidConfig';
}

/** Reads the environment. Empty variables count as absent. Throws `InvalidConfig`. */
export function readConfig(env: Readonly<Record<string, string | undefined>>): Config {
  const given = Object.fromEntries(Object.entries(env).filter(([, value]) => value !== undefined && value !== ''));
  const parsed = environment.safeParse(given);
  if (!parsed.success) {
    throw new InvalidConfig(parsed.error.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`).join('\n'));
  }
  const dataDir = parsed.data.DATA_DIR;
  return { ...parsed.data, DATA_DIR: isAbsolute(dataDir) ? dataDir : resolve(dataDir) };
}

/** Variables read in addition to the settings above: by the signer, by commands, and by tests. */
const READ_ELSEWHERE = [
  ...['', 'TEST_'].flatMap((mode) =>
    ['MNEMONIC', 'KEYSTORE', 'KEYSTORE_PASSPHRASE', 'KEYSTORE_PASSPHRASE_FILE'].map((name) => `${mode}WALLET_${name}`),
  ),
  ...[
    'EVENTSTORE_ADMIN_URL',
    ...['API', 'WORKER', 'SIGNER', 'AUDITOR', 'ERASER'].map((user) => `EVENTSTORE_${user}_PASSWORD`),
  ],
  ...['APPROVER_PASSPHRASE_FILE', 'CRASH_AT', 'SANDBOX_CHAINS', 'CI', 'FUZZ', 'NODE_OPTIONS'],
];
const KNOWN: ReadonlySet<string> = new Set([...Object.keys(environment.shape), ...READ_ELSEWHERE]);
/** Shorter names resemble too many unrelated ones. */
const MIN_RESEMBLING = 8;

export interface UnknownSetting {
  readonly name: string;
  /** The setting that was probably meant; null when none is similar. */
  readonly meant: string | null;
}

/** Variables that nothing reads. In a complete environment only those with `meant` concern us. */
export function unknownSettings(env: Readonly<Record<string, string | undefined>>): UnknownSetting[] {
  return Object.keys(env)
    .filter((name) => !KNOWN.has(name))
    .map((name) => ({
      name,
      meant: name.length < MIN_RESEMBLING ? null : ([...KNOWN].find((known) => distance(name, known) <= 2) ?? null),
    }));
}

/** The number of letters to insert, remove or change. */
function distance(one: string, other: string): number {
  if (Math.abs(one.length - other.length) > 2) return Infinity;
  let row = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (let i = 1; i <= one.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= other.length; j += 1)
      next.push(
        Math.min(must(next[j - 1]) + 1, must(row[j]) + 1, must(row[j - 1]) + (one[i - 1] === other[j - 1] ? 0 : 1)),
      );
    row = next;
  }
  return must(row.at(-1));
}
