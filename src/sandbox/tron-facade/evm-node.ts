import { createInterface } from 'node:readline';
import { startGuarded, type GuardedProcess } from '../guarded-process.ts';
import { within } from '../../runtime/util/within.ts';

/** A transaction as executed by the EVM. */
export interface EvmOutcome {
  readonly ok: boolean;
  /** Gas of the execution itself, without the intrinsic cost of a transaction. */
  readonly executionGas: bigint;
  readonly ranOutOfGas: boolean;
  /** Return data, or the revert data, in hex without prefix. */
  readonly output: string;
  readonly logs: readonly { readonly address: string; readonly topics: readonly string[]; readonly data: string }[];
  readonly contractAddress: string | null;
}

export interface EvmCall {
  readonly from: string;
  readonly to: string | null;
  readonly data: string;
  readonly value: bigint;
  /** Gas beyond the intrinsic cost. */
  readonly executionGas: bigint;
}

const START_TIMEOUT_MS = 10_000;
const RPC_TIMEOUT_MS = 20_000;
/** Free gas and no automatic mining, so that the facade alone decides which block contains what. */
const NODE_ARGUMENTS = [
  ...[
    '--host',
    '127.0.0.1',
    '--port',
    '0',
    '--accounts',
    '0',
    '--hardfork',
    'cancun',
    '--order',
    'fifo',
    '--no-mining',
    '--auto-impersonate',
  ],
  ...[
    '--gas-price',
    '0',
    '--base-fee',
    '0',
    '--disable-min-priority-fee',
    '--gas-limit',
    '1000000000',
    '--disable-default-create2-deployer',
  ],
  ...['--transaction-block-keeper', '64', '--prune-history', '64'],
];

class EvmRefused extends Error {
  override readonly name = 'EvmRefused';
}

/** The facade's own anvil: a real EVM in which every account may send. */
export class EvmNode {
  readonly #process: GuardedProcess;
  readonly #url: string;
  #nextId = 1;

  private constructor(process: GuardedProcess, url: string) {
    this.#process = process;
    this.#url = url;
  }

  static async start(binary: string, chainId: number): Promise<EvmNode> {
    const node = startGuarded(binary, [...NODE_ARGUMENTS, '--chain-id', String(chainId)]);
    try {
      return new EvmNode(node, `http://${await listeningAddress(node)}`);
    } catch (error) {
      await node.end();
      throw error;
    }
  }

  async rpc<Answer>(method: string, ...params: readonly unknown[]): Promise<Answer> {
    const response = await fetch(this.#url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: this.#nextId++, method, params }),
      signal: AbortSignal.timeout(RPC_TIMEOUT_MS),
    });
    const answer = (await response.json()) as { result?: Answer; error?: { message: string; data?: unknown } };
    if (answer.error !== undefined) throw new EvmRefused(answer.error.message, { cause: answer.error.data });
    return answer.result as Answer;
  }

  async execute(call: EvmCall): Promise<EvmOutcome> {
    const intrinsic = intrinsicGas(call);
    const gas = intrinsic + call.executionGas;
    const request = {
      from: call.from,
      to: call.to,
      data: call.data,
      value: quantity(call.value),
      gas: quantity(gas),
      gasPrice: '0x0',
    };
    const output = call.to === null ? '' : await this.outputOf(request);
    const hash = await this.rpc<string>('eth_sendTransaction', request);
    await this.rpc('evm_mine');
    const receipt = await this.rpc<EvmReceipt | null>('eth_getTransactionReceipt', hash);
    if (receipt === null) throw new EvmRefused('the transaction was not taken into a block');
    const gasUsed = BigInt(receipt.gasUsed);
    const ok = receipt.status === '0x1';
    return {
      ok,
      executionGas: gasUsed > intrinsic ? gasUsed - intrinsic : 0n,
      ranOutOfGas: !ok && gasUsed === gas,
      output,
      logs: receipt.logs,
      contractAddress: receipt.contractAddress,
    };
  }

  /** Runs a call without a transaction and returns its return or revert data, in hex without prefix. */
  async outputOf(request: Readonly<Record<string, unknown>>): Promise<string> {
    try {
      return (await this.rpc<string>('eth_call', request, 'latest')).slice(2);
    } catch (error) {
      if (!(error instanceof EvmRefused)) throw error;
      return typeof error.cause === 'string' ? error.cause.slice(2) : '';
    }
  }

  async balanceOf(address: string): Promise<bigint> {
    return BigInt(await this.rpc<string>('eth_getBalance', address, 'latest'));
  }

  async setBalance(address: string, value: bigint): Promise<void> {
    await this.rpc('anvil_setBalance', address, quantity(value));
  }

  async hasCode(address: string): Promise<boolean> {
    return (await this.rpc<string>('eth_getCode', address, 'latest')) !== '0x';
  }

  /** Whether TRON knows it as an account: it was given native coin, sent something, or has code. */
  async isAccount(address: string): Promise<boolean> {
    const sent = await this.rpc<string>('eth_getTransactionCount', address, 'latest');
    return sent !== '0x0' || (await this.balanceOf(address)) > 0n || this.hasCode(address);
  }

  /** Stops the node; resolves when it is gone. */
  async close(): Promise<void> {
    await this.#process.end();
  }
}

interface EvmReceipt {
  readonly status: string;
  readonly gasUsed: string;
  readonly contractAddress: string | null;
  readonly logs: EvmOutcome['logs'];
}

export const quantity = (value: bigint): string => `0x${value.toString(16)}`;

/** The cost of a transaction before its first instruction (EIP-2028, EIP-3860). */
export function intrinsicGas(call: Pick<EvmCall, 'to' | 'data'>): bigint {
  const bytes = Buffer.from(call.data.slice(2), 'hex');
  const zeros = bytes.filter((byte) => byte === 0).length;
  const creation = call.to === null ? 32_000 + 2 * Math.ceil(bytes.length / 32) : 0;
  return BigInt(21_000 + 4 * zeros + 16 * (bytes.length - zeros) + creation);
}

async function listeningAddress(node: GuardedProcess): Promise<string> {
  const lines = createInterface({ input: node.stdout });
  const listening = new Promise<string>((resolve) => {
    lines.on('line', (line) => {
      const address = /^Listening on (127\.0\.0\.1:\d+)/.exec(line)?.[1];
      if (address !== undefined) resolve(address);
    });
  });
  const ended = node.ended.then(() => Promise.reject(new Error('anvil ended before it listened')));
  try {
    return await within(START_TIMEOUT_MS, Promise.race([listening, ended]), () => {
      throw new Error(`anvil did not listen within ${START_TIMEOUT_MS} ms`);
    });
  } finally {
    lines.close();
    node.stdout.resume();
  }
}
