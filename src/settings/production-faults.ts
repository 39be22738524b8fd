import type { Config } from '../config.ts';
import type { Mode } from '../domain/values/ids.ts';
import { shippingFaults } from '../backup/shipping-place.ts';
import { canaryFaults } from './canary-faults.ts';
import { consoleFaults } from './console-faults.ts';
import { missingSecondSources } from './providers.ts';
import { networkFaults } from './production-networks.ts';
import { riskFaults } from './risks.ts';
import { profileFaults, rolesOf } from './roles.ts';
import { sealingKeyFaults } from './sealing-keys.ts';

/** Settings that only the holder of the keys reads. */
const SIGNERS_OWN = [
  'PAYOUT_LIMITS',
  'PAYOUTS_PER_HOUR',
  'PAYOUT_APPROVERS',
  'TREASURY_LIMITS',
  'WITHDRAWAL_ADDRESSES',
  'TEST_WALLET_MNEMONIC',
  'TEST_WALLET_KEYSTORE',
];

/** Configurations that would lose money or trust, each in words for the operator. */
export function productionFaults(config: Config, env: Readonly<Record<string, string | undefined>>): string[] {
  const faults = [
    env['CRASH_AT'] !== undefined &&
      'CRASH_AT must not be set: it ends the process in the middle of a payment and is for sandbox tests',
    ...sealingKeyFaults(config),
    config.EVENTSTORE_ERASER_URL !== undefined &&
      'EVENTSTORE_ERASER_URL must not be set: no node may delete anything; only `quittance forget` uses it',
    env['EVENTSTORE_ADMIN_URL'] !== undefined &&
      'EVENTSTORE_ADMIN_URL must not be set: only `quittance store users` uses it; a node has a user of its role in EVENTSTORE_URL',
    config.PUBLIC_URL === undefined && 'PUBLIC_URL is missing: the https URL that payers and merchants use',
    config.PUBLIC_URL !== undefined &&
      !config.PUBLIC_URL.startsWith('https://') &&
      'PUBLIC_URL must be https; TLS can end at a reverse proxy',
    (config.RATE_PROVIDERS === undefined || config.RATE_PROVIDERS.includes('static')) &&
      'RATE_PROVIDERS must name real sources: coinbase, kraken, coingecko; static is for the sandbox',
    config.WEBHOOK_ALLOW_INSECURE === true &&
      'WEBHOOK_ALLOW_INSECURE must not be set: webhooks use https to public addresses only',
    ...missingSecondSources(config),
    ...networkFaults(config),
    ...riskFaults(config),
    ...consoleFaults(config),
    ...canaryFaults(config),
    ...profileFaults(config),
    ...shippingFaults(config),
    ...keyFaults(config, env),
    isOneWallet(config) && 'live and test mode must not share a wallet: WALLET_... and TEST_WALLET_... are equal',
  ];
  return faults.filter((fault) => fault !== false);
}

/** With one wallet for both modes, test money and real money could meet at one address. */
function isOneWallet(config: Config): boolean {
  const live = ownExport(config, 'live');
  const test = ownExport(config, 'test');
  return live.some((value, place) => value !== undefined && value === test[place]);
}

const NO_KEYS_HERE =
  'live keys must not be in a process that the network can reach: run "quittance signer" as another user and set SIGNER_SOCKET and SIGNER_SECRET_FILE here (docs/wallet.md, "A signer of its own")';

/** Settings that would let anyone who takes over this process, or reads its environment, take the money. */
function keyFaults(config: Config, env: Readonly<Record<string, string | undefined>>): string[] {
  const { api, worker } = rolesOf(config);
  const inEnvironment = ['WALLET_MNEMONIC', 'WALLET_KEYSTORE_PASSPHRASE'].filter((name) => env[name]);
  const faults = inEnvironment.map((name) => `${name} must not be set: ${NO_KEYS_HERE}`);
  if (env['WALLET_KEYSTORE'] && (api || worker))
    faults.push(`WALLET_KEYSTORE must not be set beside the roles api and worker: ${NO_KEYS_HERE}`);
  if (config.SIGNER_SOCKET === undefined && config.SIGNER_SECRET_FILE === undefined) return faults;
  if (config.SIGNER_SOCKET === undefined || config.SIGNER_SECRET_FILE === undefined)
    faults.push('SIGNER_SOCKET and SIGNER_SECRET_FILE belong together: set both or neither');
  const signers = SIGNERS_OWN.filter((name) => env[name]);
  if (signers.length > 0)
    faults.push(
      `${signers.join(', ')}: with SIGNER_SOCKET these belong in the settings of quittance signer and have no effect here`,
    );
  return faults;
}

/** The watch-only settings of a mode: EVM, TRON, Solana. */
export function ownExport(config: Config, mode: Mode): [string | undefined, string | undefined, string | undefined] {
  return mode === 'live'
    ? [config.WALLET_XPUB_EVM, config.WALLET_XPUB_TRON, config.WALLET_SOLANA_POOL]
    : [config.TEST_WALLET_XPUB_EVM, config.TEST_WALLET_XPUB_TRON, config.TEST_WALLET_SOLANA_POOL];
}
