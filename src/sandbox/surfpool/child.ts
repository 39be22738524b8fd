import { loadSurfpoolAddon } from './addon.ts';
import { foundSolanaChain, loadSolanaGenesis } from './genesis.ts';
import { serveSurfpool } from './proxy.ts';
import { messageOf } from '../../runtime/util/message-of.ts';
import { must } from '../../domain/values/must.ts';

/** Passed as JSON in the first argument. */
export interface SurfpoolChildConfig {
  readonly addonPath: string;
  readonly directory: string;
}

/** The only line on standard output. */
export type SurfpoolChildReport = { readonly url: string } | { readonly failure: string };

const DRAIN_MS = 200;
/** A transaction is final 32 slots later. */
const SLOT_TIME_MS = 100;

/** Runs Surfpool in a separate process: its event buffer must be emptied whatever else the service does. */
async function main(config: SurfpoolChildConfig): Promise<SurfpoolChildReport> {
  const net = loadSurfpoolAddon(config.addonPath).Surfnet.startWithConfig({
    offline: true,
    blockProductionMode: 'clock',
    slotTimeMs: SLOT_TIME_MS,
  });
  setInterval(() => net.drainEvents(), DRAIN_MS);
  foundSolanaChain(net, loadSolanaGenesis(config.directory));
  return serveSurfpool(net.rpcUrl, net.wsUrl);
}

process.on('SIGTERM', () => process.exit(0));
main(JSON.parse(must(process.argv[2])) as SurfpoolChildConfig).then(
  (report) => process.stdout.write(`${JSON.stringify(report)}\n`),
  (error: unknown) => {
    process.stdout.write(`${JSON.stringify({ failure: messageOf(error) } satisfies SurfpoolChildReport)}\n`, () =>
      process.exit(1),
    );
  },
);
