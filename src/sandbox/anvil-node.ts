import { createInterface } from 'node:readline';
import { startGuarded, type GuardedProcess } from './guarded-process.ts';
import { createRpc, type Rpc } from './json-rpc.ts';

export interface AnvilSettings {
  readonly binary: string;
  readonly chainId: number;
  /** `safe` lags the head by this many blocks, `finalized` by twice as many. */
  readonly slotsInAnEpoch: number;
  /** Unix seconds of block 0. */
  readonly genesisTimeSec: number;
}

/** States kept for reorganisations; a sandbox needs no older ones. */
const STATES_KEPT = 64;
const START_TIMEOUT_MS = 15_000;
const LISTENING = /^Listening on 127\.0\.0\.1:(\d+)/;

/**
 * One run of the anvil binary. It makes blocks only on request and knows no keys: every transaction is signed outside.
 */
export class AnvilNode {
  readonly port: number;
  readonly url: string;
  readonly rpc: Rpc;
  readonly #process: GuardedProcess;

  private constructor(process: GuardedProcess, port: number) {
    this.#process = process;
    this.port = port;
    this.url = `http://127.0.0.1:${port}`;
    this.rpc = createRpc(this.url);
  }

  /** `port` 0 picks a free one; `stateFile` continues the chain saved there. Rejects when the node does not start. */
  static async start(settings: AnvilSettings, port: number, stateFile: string | null): Promise<AnvilNode> {
    const process = startGuarded(settings.binary, [
      ...['--host', '127.0.0.1', '--port', String(port), '--no-cors'],
      ...['--chain-id', String(settings.chainId), '--timestamp', String(settings.genesisTimeSec)],
      ...['--accounts', '0', '--no-mining', '--order', 'fifo', '--slots-in-an-epoch', String(settings.slotsInAnEpoch)],
      ...['--prune-history', String(STATES_KEPT)],
      ...(stateFile === null ? [] : ['--load-state', stateFile]),
    ]);
    try {
      const node = new AnvilNode(process, await listeningPort(process));
      await node.rpc('anvil_setLoggingEnabled', [false]);
      return node;
    } catch (error) {
      await process.end();
      throw error;
    }
  }

  hasEnded(): boolean {
    return this.#process.hasEnded();
  }

  async end(): Promise<void> {
    await this.#process.end();
  }
}

function listeningPort(process: GuardedProcess): Promise<number> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error('anvil did not start in time')), START_TIMEOUT_MS);
    const lines = createInterface({ input: process.stdout });
    lines.on('line', (line) => {
      const match = LISTENING.exec(line);
      if (!match) return;
      clearTimeout(timer);
      resolve(Number(match[1]));
    });
    void process.ended.then(() => {
      clearTimeout(timer);
      reject(new Error('anvil ended while it started'));
    });
  });
}
