import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { Wallet } from 'ethers';
import { startGuarded, type GuardedProcess } from '../../src/sandbox/guarded-process.ts';
import { createRpc, quantity, type Rpc } from '../../src/sandbox/json-rpc.ts';
import { freePort } from '../support/free-port.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { tokenChainOn, type HandledNode, type TokenChain } from '../support/tokens.ts';
import { ConsensusClient } from './consensus-client.ts';
import { gethPath } from './install-geth.ts';

/** The account of geth's developers, which the genesis makes rich. */
const RICH = new Wallet('0xb71c71a67e1177ad4e901695e1b4b9ee17ae16c6668d313eac2f96dbcda3f291');
const CHAIN_ID = 31_337;
/**
 * Of geth's developer chain, which has the contracts of Ethereum's forks, up to Osaka: later forks take another version
 * of the Engine API.
 */
const GENESIS = join(import.meta.dirname, '../fixtures/nodes/geth-1.17.10/genesis.json');
const START_MS = 30_000;
/** What it has not written to its disk when it ends is gone, blocks included. */
const END_MS = 60_000;

const run = promisify(execFile);

export interface GethOptions {
  /** How many blocks below the head are final; default 64. */
  readonly finalLag?: number;
  readonly flags?: readonly string[];
}

/** A run of geth whose blocks come from a consensus client in the test's hand. */
export class GethNode implements HandledNode {
  readonly url: string;
  readonly rpc: Rpc;
  readonly #folder: string;
  readonly #secret = randomBytes(32);
  readonly #ports: { readonly http: number; readonly engine: number };
  readonly #options: GethOptions;
  readonly #consensus: ConsensusClient;
  #process: GuardedProcess | null = null;

  private constructor(folder: string, ports: { http: number; engine: number }, options: GethOptions) {
    this.#folder = folder;
    this.#ports = ports;
    this.#options = options;
    this.url = `http://127.0.0.1:${ports.http}`;
    this.rpc = createRpc(this.url);
    const engine = `http://127.0.0.1:${ports.engine}`;
    this.#consensus = new ConsensusClient(engine, this.#secret, this.rpc, options.finalLag ?? 64);
  }

  static async start(options: GethOptions = {}): Promise<GethNode> {
    const node = new GethNode(temporaryFolder('geth'), { http: await freePort(), engine: await freePort() }, options);
    writeFileSync(join(node.#folder, 'jwt'), node.#secret.toString('hex'));
    await run(gethPath(), ['init', '--datadir', node.#data, GENESIS]);
    await node.restart();
    return node;
  }

  get #data(): string {
    return join(this.#folder, 'data');
  }

  /** As after a crash of its machine: what was pending is gone. */
  async restart(): Promise<void> {
    await this.end();
    await this.#run([
      ...['--networkid', String(CHAIN_ID), '--syncmode', 'full', '--nodiscover', '--maxpeers', '0'],
      ...['--authrpc.addr', '127.0.0.1', '--authrpc.port', String(this.#ports.engine)],
      ...['--authrpc.jwtsecret', join(this.#folder, 'jwt')],
      // It would put what it was sent back into its pool, some time after a restart or a lost block.
      '--txpool.nolocals',
      ...(this.#options.flags ?? []),
    ]);
  }

  async mine(count = 1, timeSec?: number): Promise<void> {
    for (let made = 0; made < count; made += 1) await this.#consensus.makeBlock(timeSec);
  }

  async fund(address: string, wei: bigint): Promise<void> {
    const nonce = Number(await this.rpc<string>('eth_getTransactionCount', [RICH.address, 'latest']));
    const fees = { maxFeePerGas: 10n ** 11n, maxPriorityFeePerGas: 10n ** 9n };
    const transfer = { type: 2, chainId: CHAIN_ID, nonce, gasLimit: 21_000n, ...fees, to: address, value: wei };
    await this.rpc('eth_sendRawTransaction', [await RICH.signTransaction(transfer)]);
    await this.mine();
  }

  async rewind(blocks: number): Promise<void> {
    const head = Number(await this.rpc<string>('eth_blockNumber'));
    await this.rpc('debug_setHead', [quantity(head - blocks)]);
    await this.dropPending();
  }

  dropPending(): Promise<void> {
    return this.restart();
  }

  async end(): Promise<void> {
    await this.#process?.end();
    this.#process = null;
  }

  async #run(flags: readonly string[]): Promise<void> {
    const guarded = startGuarded(
      gethPath(),
      [
        ...['--datadir', this.#data, '--verbosity', '1', '--port', '0', '--ipcdisable'],
        ...['--http', '--http.addr', '127.0.0.1', '--http.port', String(this.#ports.http)],
        ...['--http.api', 'eth,net,web3,txpool,debug', ...flags],
      ],
      { graceMs: END_MS },
    );
    guarded.stdout.resume();
    this.#process = guarded;
    for (let waitedMs = 0; waitedMs < START_MS; waitedMs += 50) {
      if (guarded.hasEnded()) throw new Error('geth ended while it started');
      const answer = await this.rpc<string>('eth_chainId').catch(() => null);
      if (answer !== null) return;
      await sleep(50);
    }
    throw new Error('geth did not start in time');
  }
}

export async function startGethChain(options: GethOptions = {}): Promise<TokenChain & { readonly node: GethNode }> {
  const node = await GethNode.start(options);
  try {
    await node.mine();
    return { ...(await tokenChainOn(handsOf(node), { chainId: CHAIN_ID })), node };
  } catch (error) {
    await node.end();
    throw error;
  }
}

const handsOf = (node: GethNode): HandledNode => ({
  ...{ url: node.url, rpc: node.rpc },
  mine: (count, timeSec) => node.mine(count, timeSec),
  fund: (address, wei) => node.fund(address, wei),
  rewind: (blocks) => node.rewind(blocks),
  dropPending: () => node.dropPending(),
  end: () => node.end(),
});
