import { readFileSync } from 'node:fs';
import { connectSigner } from '../adapters/signer/remote.ts';
import { signerOwner } from '../adapters/wallet/address-owner.ts';
import { fingerprintOf, readExtendedPublicKey } from '../adapters/wallet/extended-public-key.ts';
import { solanaPoolDeriver } from '../adapters/wallet/solana-pool.ts';
import type { Config } from '../config.ts';
import { type Mode, MODES } from '../domain/values/ids.ts';
import { addressFamilyOf, NETWORKS, type AddressFamily } from '../domain/networks/networks.ts';
import type { AddressSource } from '../ports/chain/addresses.ts';
import { silentLog } from '../ports/log.ts';
import { ownExport } from '../settings/production-faults.ts';
import { providerUrls } from '../settings/providers.ts';
import { readSharedSecret } from '../settings/signer-secret.ts';
import { runWalletTool } from '../key-tools/wallet.ts';
import { acceptedRisk } from './settings-checks.ts';
import { fault, ok, skipped, warning, type Finding } from './finding.ts';
import { messageOf } from '../runtime/util/message-of.ts';
import { must } from '../domain/values/must.ts';

type Environment = Readonly<Record<string, string | undefined>>;
const EXPORT = 'export again where the keys are (quittance wallet export-watch-only) and use its output';

/**
 * Whether addresses can be derived, and whether the signer has their keys. A running service makes these checks itself.
 */
export async function walletFindings(config: Config, env: Environment, isRunning: boolean): Promise<Finding[]> {
  const findings: Finding[] = [];
  const sources: AddressSource[] = [];
  for (const mode of MODES) {
    const prefix = mode === 'test' ? 'TEST_' : '';
    if (env[`${prefix}WALLET_KEYSTORE`] || env[`${prefix}WALLET_MNEMONIC`]) findings.push(await ownWallet(mode, env));
    for (const family of familiesOf(config, mode)) {
      const { source, finding } = readSource(config, mode, family);
      if (source) sources.push(source);
      if (finding) findings.push(finding);
      if (!source && !finding && !holdsKeys(config, env, prefix))
        findings.push(
          fault(
            `wallet:${mode}:${family}`,
            'there is neither an export nor a wallet: the network is not offered',
            EXPORT,
          ),
        );
    }
  }
  return [...findings, ...(await signerFindings(config, sources, isRunning))];
}

const holdsKeys = (config: Config, env: Environment, prefix: string): boolean =>
  config.SIGNER_SOCKET !== undefined || Boolean(env[`${prefix}WALLET_KEYSTORE`] ?? env[`${prefix}WALLET_MNEMONIC`]);

const familiesOf = (config: Config, mode: Mode): AddressFamily[] => [
  ...new Set(NETWORKS.filter((network) => providerUrls(config, mode, network).length > 0).map(addressFamilyOf)),
];

function readSource(config: Config, mode: Mode, family: AddressFamily): { source?: AddressSource; finding?: Finding } {
  const [evm, tron, solana] = ownExport(config, mode);
  const value = { evm, tron, solana }[family];
  const name = `${mode === 'test' ? 'TEST_' : ''}WALLET_${family === 'solana' ? 'SOLANA_POOL' : `XPUB_${family.toUpperCase()}`}`;
  if (value === undefined) return {};
  const check = `wallet:${mode}:${family}`;
  try {
    if (family !== 'solana')
      return { source: { mode, family, fingerprint: fingerprintOf(readExtendedPublicKey(value)), keys: null } };
    const keys = readFileSync(value, 'utf8').split(/\s+/).filter(Boolean);
    if (keys.length === 0) return { finding: fault(check, `${name}: the file contains no key`, EXPORT) };
    return { source: must(solanaPoolDeriver(mode, keys).source) };
  } catch (error) {
    return { finding: fault(check, `${name}: ${messageOf(error)}`, EXPORT) };
  }
}

/** Opens the wallet of the environment like a signer would, and compares it with the exports next to it. */
async function ownWallet(mode: Mode, env: Environment): Promise<Finding> {
  try {
    await runWalletTool('wallet.verify', { mode }, { ...env }, silentLog);
    return ok(`keys:${mode}`, 'the wallet opens, and the exports belong to it');
  } catch (error) {
    return fault(
      `keys:${mode}`,
      messageOf(error),
      'give the signer the right keystore and passphrase, or export again from it',
    );
  }
}

async function signerFindings(
  config: Config,
  sources: readonly AddressSource[],
  isRunning: boolean,
): Promise<Finding[]> {
  const { SIGNER_SOCKET: socketPath, SIGNER_SECRET_FILE: secretFile } = config;
  if (socketPath === undefined || secretFile === undefined) return [];
  // It admits one service at a time, and the running one must keep its connection.
  if (isRunning) return [skipped('signer', 'the running service uses it: see its own checks')];
  try {
    const signer = await connectSigner({ socketPath, secret: readSharedSecret(secretFile), log: silentLog });
    try {
      const owner = signerOwner(signer);
      const foreign: string[] = [];
      for (const source of sources)
        if (!config.WATCH_ONLY.includes(source.mode) && !(await owner.owns(source)))
          foreign.push(`${source.mode} ${source.family}`);
      return [
        ok('signer', `answers, with keys of ${signer.modes.join(' and ')} mode`),
        ...foreign.map((which) =>
          fault('signer', `the ${which} addresses are not the signer's: money sent there could not be moved`, EXPORT),
        ),
        ...signer.acceptedRisks().map(acceptedRisk),
        ...(signer.pays
          ? []
          : [
              warning(
                'signer',
                'it has no PAYOUT_LIMITS: refunds are accepted but never paid',
                "set them in the signer's settings",
              ),
            ]),
      ];
    } finally {
      await signer.close();
    }
  } catch (error) {
    return [
      fault(
        'signer',
        messageOf(error),
        'start quittance signer, and let both users read SIGNER_SECRET_FILE and enter the directory of the socket',
      ),
    ];
  }
}
