import { readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { parseEnv } from 'node:util';
import { serveSigner } from '../adapters/signer/process.ts';
import { takeWalletSources } from '../adapters/signer/wallet-sources.ts';
import { InvalidConfig, readConfig, unknownSettings, type Config } from '../config.ts';
import type { Logger } from '../observability/logger.ts';
import {
  demandOwnDirectory,
  demandPrivateDirectory,
  demandPrivateFile,
  demandSharedFile,
} from '../settings/private-files.ts';
import { productionPayoutRules } from './money/payouts.ts';
import { networkFaults, productionAccess } from '../settings/production-networks.ts';
import { must } from '../domain/values/must.ts';
import { readSharedSecret } from '../settings/signer-secret.ts';
import { acceptedRisks, logRisks, riskFaults } from '../settings/risks.ts';
import { makeFolder } from '../runtime/files/make-folder.ts';

/** The signer's settings whose files are as valuable as the money. */
const SECRET_FILES = [
  'WALLET_KEYSTORE',
  'WALLET_KEYSTORE_PASSPHRASE_FILE',
  'TEST_WALLET_KEYSTORE',
  'TEST_WALLET_KEYSTORE_PASSPHRASE_FILE',
] as const;

/**
 * The signer as a separate service, for a `quittance serve` of another user. Its settings come only from an environment
 * file that only its user may read, so whoever starts it cannot change what it may pay. Resolves once it accepts its
 * service.
 */
export async function startSignerService(file: string, log: Logger): Promise<{ close(): Promise<void> }> {
  demandPrivateFile('the settings', file);
  const env: Record<string, string | undefined> = parseEnv(readFileSync(file, 'utf8'));
  const unknown = unknownSettings(env);
  if (unknown.length > 0)
    throw new InvalidConfig(
      `${file}: ${unknown.map(({ name, meant }) => `${name} is not a setting${meant === null ? '' : `; did you mean ${meant}?`}`).join(', ')}`,
    );
  if (env['CRASH_AT'] !== undefined) throw new InvalidConfig(`${file}: CRASH_AT is for tests of the sandbox`);
  for (const name of SECRET_FILES) if (env[name]) demandPrivateFile(name, env[name]);
  const config = readConfig(env);
  const faults = [...networkFaults(config), ...riskFaults(config)];
  if (faults.length > 0) throw new InvalidConfig(`${file}:\n${faults.map((fault) => `  ${fault}`).join('\n')}`);
  const risks = acceptedRisks(config);
  logRisks(risks, log);
  const place = placeOf(config);
  const wallets = takeWalletSources(env);
  if (Object.keys(wallets).length === 0)
    throw new InvalidConfig(
      'no wallet: set WALLET_KEYSTORE and WALLET_KEYSTORE_PASSPHRASE_FILE (TEST_ in front for test mode)',
    );
  const rules = productionPayoutRules(config, productionAccess(config));
  const signer = await serveSigner(
    { wallets, ...(rules && { payouts: rules }), auditDirectory: must(config.SIGNER_JOURNAL_DIR), log },
    { ...place, acceptedRisks: risks },
  );
  log.info(
    { socket: place.socketPath, modes: Object.keys(wallets), pays: rules !== null },
    'the signer accepts its service',
  );
  void signer.lost.then((reason) => {
    log.fatal({}, reason);
    process.exit(1);
  });
  return { close: () => signer.close() };
}

function placeOf(config: Config): { readonly socketPath: string; readonly secret: string } {
  const { SIGNER_SOCKET: socketPath, SIGNER_SECRET_FILE: secretFile, SIGNER_JOURNAL_DIR: journal } = config;
  if (socketPath === undefined)
    throw new InvalidConfig(
      'SIGNER_SOCKET is missing: the socket that the service connects to, in a directory of the signer',
    );
  if (secretFile === undefined)
    throw new InvalidConfig('SIGNER_SECRET_FILE is missing: the file with the secret shared by signer and service');
  if (journal === undefined)
    throw new InvalidConfig('SIGNER_JOURNAL_DIR is missing: where the signer keeps its journal');
  demandOwnDirectory('SIGNER_SOCKET', dirname(socketPath));
  demandSharedFile('SIGNER_SECRET_FILE', secretFile);
  makeFolder(journal);
  demandPrivateDirectory('SIGNER_JOURNAL_DIR', journal);
  return { socketPath, secret: readSharedSecret(secretFile) };
}
