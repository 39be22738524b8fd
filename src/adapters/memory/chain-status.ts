import type { ChainStatusStore, ChainReport } from '../../ports/chain-status.ts';

/** The status of the embedded profile: watchers and readers share one memory. */
export function createMemoryChainStatus(): ChainStatusStore {
  const reports = new Map<string, ChainReport>();
  return {
    publish: (mode, network, _token, report) => void reports.set(`${mode}/${network}`, report),
    read: (mode, network) => reports.get(`${mode}/${network}`) ?? null,
    close: async () => reports.clear(),
  };
}
