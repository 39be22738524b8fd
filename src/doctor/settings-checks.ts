import { unknownSettings, type Config } from '../config.ts';
import type { Mode } from '../domain/values/ids.ts';
import { NETWORKS } from '../domain/networks/networks.ts';
import { providerUrls } from '../settings/providers.ts';
import type { AcceptedRisk } from '../ports/signer/protocol.ts';
import { productionFaults } from '../settings/production-faults.ts';
import { acceptedRisks, needlessAcceptances } from '../settings/risks.ts';
import { rolesOf } from '../settings/roles.ts';
import { namesKeys, needlessKeys, sealingKeysOf } from '../settings/sealing-keys.ts';
import { exchangeWallets } from '../settings/exchange-wallets.ts';
import { readSharedSecret } from '../settings/signer-secret.ts';
import { fault, ok, warning, type Finding } from './finding.ts';
import { messageOf } from '../runtime/util/message-of.ts';
import { isLoopbackHost } from '../runtime/http/loopback-request.ts';
import { must } from '../domain/values/must.ts';

type Environment = Readonly<Record<string, string | undefined>>;
const PORTS = ['PORT', 'OPS_PORT', 'ADMIN_PORT', 'CONSOLE_PORT'] as const;

export const wrongSetting = (why: string): Finding =>
  fault('settings', why, 'correct it: docs/operations.md lists what it accepts');

/** Everything that follows from the settings alone. */
export function settingsFindings(config: Config, env: Environment): Finding[] {
  const faults = productionFaults(config, env);
  return [
    ...(faults.length === 0 ? [ok('settings', 'quittance serve accepts them')] : faults.map(wrongSetting)),
    ...riskFindings(config),
    ...unknownFindings(env),
    ...attempt(
      'sealing-keys',
      'are well formed',
      'set that setting to 32 random bytes (openssl rand -hex 32), the newest first',
      () => (namesKeys(config) ? sealingKeysOf(config) : undefined),
    ),
    ...needlessKeys(config).map((why) => warning('sealing-keys', why, 'give each process only the keys of its role')),
    ...attempt('exchange-wallets', 'can be read', 'correct the file', () => exchangeWallets(config)),
    ...(config.SIGNER_SECRET_FILE === undefined
      ? []
      : attempt(
          'signer-secret',
          'can be read',
          'create it again and make it readable for both users (docs/wallet.md)',
          () => readSharedSecret(must(config.SIGNER_SECRET_FILE)),
        )),
    ...portFindings(config),
    ...providerSettings(config),
    ...payoutFindings(config, env),
    ...proxyFindings(config),
    ...egressFindings(env),
  ];
}

export const acceptedRisk = ({ name, why }: AcceptedRisk): Finding =>
  warning(`accepted-risk:${name}`, why, `change the setting and take ${name} out of ACCEPT_RISKS`);

const riskFindings = (config: Config): Finding[] => [
  ...acceptedRisks(config).map(acceptedRisk),
  ...needlessAcceptances(config).map((name) =>
    warning(
      'accepted-risks',
      `ACCEPT_RISKS names ${name}, which no setting of live mode takes: a later change would pass unnoticed`,
      'take it out',
    ),
  ),
];

/** A misspelt setting would silently have no effect. */
function unknownFindings(env: Environment): Finding[] {
  const resembling = unknownSettings(env).filter(({ meant }) => meant !== null);
  if (resembling.length === 0) return [ok('unknown-settings', 'no variable looks like a misspelt setting')];
  return resembling.map(({ name, meant }) =>
    warning('unknown-settings', `${name} is not a setting and has no effect`, `did you mean ${meant}?`),
  );
}

function attempt(check: string, fine: string, action: string, task: () => unknown): Finding[] {
  try {
    return task() === undefined ? [] : [ok(check, fine)];
  } catch (error) {
    if (error instanceof Error) return [fault(check, messageOf(error), action)];
    throw error;
  }
}

function portFindings(config: Config): Finding[] {
  const used = PORTS.flatMap((name) => (config[name] ? [{ name, port: config[name] }] : []));
  return used.flatMap(({ name, port }, index) => {
    const same = used.slice(0, index).find((other) => other.port === port);
    return same ? [fault('ports', `${same.name} and ${name} are both ${port}`, `give ${name} another port`)] : [];
  });
}

function providerSettings(config: Config): Finding[] {
  const all = (['live', 'test'] as const).flatMap((mode: Mode) =>
    NETWORKS.flatMap((network) => {
      const urls = providerUrls(config, mode, network).map((text) => URL.parse(text));
      const plain = urls.filter((each) => each?.protocol === 'http:' && !isLoopbackHost(each.hostname));
      return plain.map((each) =>
        warning(
          `providers:${mode}:${network}`,
          `${must(each).host} is queried without encryption: an attacker in between can invent payments`,
          'use its https URL',
        ),
      );
    }),
  );
  const none = NETWORKS.every(
    (network) => providerUrls(config, 'live', network).length + providerUrls(config, 'test', network).length === 0,
  );
  const names = 'ETHEREUM_RPC_URLS, BSC_RPC_URLS, TRON_API_URLS or SOLANA_RPC_URLS';
  return none
    ? [
        fault(
          'providers',
          'no network has a provider: nothing can be paid',
          `set ${names} (TEST_ in front for test mode)`,
        ),
      ]
    : all;
}

function payoutFindings(config: Config, env: Environment): Finding[] {
  const holdsKeys = ['WALLET_KEYSTORE', 'TEST_WALLET_KEYSTORE', 'WALLET_MNEMONIC', 'TEST_WALLET_MNEMONIC'].some(
    (name) => env[name],
  );
  if (!rolesOf(config).signer || !holdsKeys) return [];
  if (config.PAYOUT_LIMITS === undefined)
    return [
      warning(
        'payouts',
        'PAYOUT_LIMITS is not set: refunds are accepted but never paid',
        'set limits for each coin (docs/refunds.md)',
      ),
    ];
  const approvers = config.PAYOUT_APPROVERS?.length ?? 0;
  return approvers < 2
    ? [
        warning(
          'payouts',
          `${approvers} approvers: anything that needs approval waits indefinitely`,
          'enroll two or more in PAYOUT_APPROVERS (docs/treasury.md)',
        ),
      ]
    : [ok('payouts', `${Object.keys(config.PAYOUT_LIMITS).join(', ')}, ${approvers} approvers`)];
}

/** Providers, markets and webhooks are reached directly, without a proxy from the environment. */
const egressFindings = (env: Environment): Finding[] =>
  ['HTTPS_PROXY', 'https_proxy', 'HTTP_PROXY', 'http_proxy'].flatMap((name) =>
    env[name]
      ? [
          warning(
            'egress',
            `${name} is set but not used: webhooks and providers are reached directly`,
            'allow outgoing connections to port 443',
          ),
        ]
      : [],
  );

function proxyFindings(config: Config): Finding[] {
  const isBehindProxy = config.PUBLIC_URL?.startsWith('https://') === true;
  const shared = config.EVENTSTORE_URL !== undefined;
  return [
    ...(isBehindProxy && config.TRUSTED_PROXIES === 0
      ? [
          warning(
            'proxy',
            'TRUSTED_PROXIES is 0 behind a proxy: all clients count as one address and share its limit',
            'set it to the number of proxies in front',
          ),
        ]
      : []),
    ...(shared && config.NODE_NUMBER === 0
      ? [
          warning(
            'node-number',
            'NODE_NUMBER is 0, which is the default of every node',
            'give every node a number of its own',
          ),
        ]
      : []),
  ];
}
