import { readFileSync } from 'node:fs';
import { Router } from 'express';
import { z } from 'zod';
import { webhookHandler } from '../../../packages/client/src/webhooks.ts';
import { InvalidConfig, type Config } from '../../config.ts';
import type { Mode } from '../../domain/values/ids.ts';
import { canaryFaults } from '../../settings/canary-faults.ts';
import type { OutgoingChain } from '../../ports/outgoing/chain.ts';
import type { TreasuryAddresses } from '../../ports/outgoing/signer.ts';
import { messageOf } from '../../runtime/util/message-of.ts';
import { parseJson } from '../../runtime/util/parse-json.ts';
import type { Wallet } from '../../signer/keys/wallet.ts';
import { rolesOf } from '../../settings/roles.ts';
import { must } from '../../domain/values/must.ts';

/** Where the canary's merchant receives its webhooks: through the public address, like any other. */
export const CANARY_WEBHOOK_PATH = '/canary/webhook';

/** The canary's merchant, its wallet and the chains to pay from. */
export interface CanaryAccount {
  readonly mode: Mode;
  readonly apiKey: string;
  readonly apiSecret: string;
  readonly webhookSecret: string;
  /** Null if this process does not pay and only receives the webhooks. */
  readonly wallet: Wallet | null;
}

export interface CanaryParts extends CanaryAccount {
  /** For one term; closed when it ends. */
  readonly chains: () => readonly OutgoingChain[];
}

/** The output of `quittance merchant create --json`. */
const merchantFile = z.object({
  api_key: z.string().regex(/^sk_(live|test)_/),
  api_secret: z.string().min(1),
  webhook_secret: z.string().min(1),
});

/**
 * Null if canary payments are disabled. Rejects with `InvalidConfig`, also for a wallet that is a treasury of the
 * service: two independent payers from one account would use each other's nonces.
 */
export async function openCanary(
  config: Config,
  treasuries: Iterable<TreasuryAddresses> = [],
): Promise<CanaryAccount | null> {
  const faults = canaryFaults(config);
  if (faults.length > 0) throw new InvalidConfig(faults.join('\n'));
  const merchant = config.CANARY_MERCHANT_FILE;
  if (merchant === undefined) return null;
  const parsed = merchantFile.safeParse(named('CANARY_MERCHANT_FILE', () => parseJson(readFileSync(merchant, 'utf8'))));
  if (!parsed.success)
    throw new InvalidConfig(
      `CANARY_MERCHANT_FILE: ${merchant} must hold api_key, api_secret and webhook_secret, as "quittance merchant create --json" prints them`,
    );
  const { api_key: apiKey, api_secret: apiSecret, webhook_secret: webhookSecret } = parsed.data;
  const mode: Mode = apiKey.startsWith('sk_live_') ? 'live' : 'test';
  return {
    mode,
    apiKey,
    apiSecret,
    webhookSecret,
    wallet: rolesOf(config).worker ? await openWallet(config, mode, treasuries) : null,
  };
}

/** Only a paying process loads the code that holds keys. */
async function openWallet(config: Config, mode: Mode, treasuries: Iterable<TreasuryAddresses>): Promise<Wallet> {
  const [{ openKeystore, readKeystoreFile }, { Wallet }] = await Promise.all([
    import('../../signer/keys/keystore.ts'),
    import('../../signer/keys/wallet.ts'),
  ]);
  const { CANARY_KEYSTORE: keystore, CANARY_KEYSTORE_PASSPHRASE_FILE: passphrase } = config;
  const words = named('CANARY_KEYSTORE_PASSPHRASE_FILE', () => readFileSync(must(passphrase), 'utf8').trim());
  const wallet = named(
    'CANARY_KEYSTORE',
    () => new Wallet(openKeystore(readKeystoreFile(must(keystore)), mode, words)),
  );
  const isOurs = [config.WALLET_XPUB_EVM, config.TEST_WALLET_XPUB_EVM].includes(wallet.evmXpub);
  if (isOurs || [...treasuries].some(({ evm }) => evm === wallet.treasury.evm)) throw new InvalidConfig(NOT_ITS_OWN);
  return wallet;
}

const NOT_ITS_OWN =
  "CANARY_KEYSTORE contains the service's own keys: create a separate wallet for canary payments (quittance wallet init)";

function named<Value>(setting: string, read: () => Value): Value {
  try {
    return read();
  } catch (error) {
    throw new InvalidConfig(`${setting}: ${messageOf(error)}`, { cause: error });
  }
}

/** The webhook receiver of the canary's merchant. */
export function canaryWebhooks({ webhookSecret }: CanaryAccount, headerPrefix: string): Router {
  const router = Router();
  // The event log has the content; only the fact of its delivery counts.
  const handler = webhookHandler({ secret: webhookSecret, headerPrefix }, () => {});
  router.post(CANARY_WEBHOOK_PATH, (request, response) => void handler(request, response));
  return router;
}
