import { accessSync, constants, existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileAddressMarks } from '../../adapters/node/address-marks-file.ts';
import { addressFamilyOf, type AddressFamily } from '../../domain/networks/networks.ts';
import type { Mode } from '../../domain/values/ids.ts';
import type { AddressHistory, AddressMarks } from '../../ports/chain/address-safety.ts';
import type { AddressStock, RunningAddressPool, AddressPoolOptions } from '../../features/addresses/pool.ts';
import type { HealthFact } from '../../observability/health.ts';
import { MANIFEST } from '../../backup/manifest.ts';
import { journalDirectory } from '../../settings/journal-directory.ts';
import type { ServiceParts } from '../service-parts.ts';
import { makeFolder } from '../../runtime/files/make-folder.ts';

export interface AddressSafety {
  readonly guardOf: NonNullable<AddressPoolOptions['guardOf']>;
  /** Once the pool has skipped what it must, the restored copy is an ordinary event log. */
  settle(pool: Pick<RunningAddressPool, 'isReconciled'>): void;
}

/** How the pool detects that its event log lost leases, and how it then checks the chains. */
export function addressSafety({
  config,
  chains,
  solana,
  log,
}: Pick<ServiceParts, 'config' | 'chains' | 'solana' | 'log'>): AddressSafety {
  const marker = join(config.DATA_DIR, MANIFEST);
  const restored = existsSync(marker);
  const marks = openMarks(journalDirectory(config), log);
  const readers = [...chains, ...(solana ?? []).map(({ chain }) => chain)];
  const historyOf = (mode: Mode, family: AddressFamily): AddressHistory => {
    const own = readers.filter((chain) => chain.mode === mode && addressFamilyOf(chain.network) === family);
    return {
      usedAmong: async (addresses) => {
        const found = await Promise.all(own.map((chain) => chain.usedAmong(addresses)));
        return new Set(found.flatMap((used) => [...used]));
      },
    };
  };
  return {
    guardOf: (mode, family) => ({ marks, restored, history: historyOf(mode, family) }),
    settle: (pool) => {
      if (restored && pool.isReconciled()) rmSync(marker, { force: true });
    },
  };
}

/** Without an address no session can be created. */
export function addressHealth(stocks: readonly AddressStock[]): HealthFact {
  const name = 'addresses';
  if (stocks.some(({ available }) => available > 0)) return { name, state: 'ok' };
  return {
    name,
    state: 'refusing',
    detail: 'no address is ready on any network: every new session is refused',
  };
}

function openMarks(directory: string, log: ServiceParts['log']): AddressMarks | null {
  try {
    makeFolder(directory);
    accessSync(directory, constants.R_OK | constants.W_OK);
    return fileAddressMarks(directory);
  } catch (error) {
    log.warn(
      { err: error, directory },
      'set SIGNER_JOURNAL_DIR to a writable directory outside DATA_DIR: without it, an event log restored by other means than quittance restore goes unnoticed',
    );
    return null;
  }
}
