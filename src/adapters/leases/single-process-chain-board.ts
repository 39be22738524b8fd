import type { ChainBoard, ChainReport } from '../../ports/chain-board.ts';

/** The board of the embedded profile: watchers and readers share one memory. */
export function createSingleProcessChainBoard(): ChainBoard {
  const reports = new Map<string, ChainReport>();
  return {
    publish: (mode, network, _token, report) => void reports.set(`${mode}/${network}`, report),
    read: (mode, network) => reports.get(`${mode}/${network}`) ?? null,
    close: async () => reports.clear(),
  };
}
