import { createRequire } from 'node:module';
import { createInterface } from 'node:readline';
import { getAddress, Interface } from 'ethers';
import type { NetworkSettings } from '../../src/domain/networks/networks.ts';
import { findAnvil } from '../../src/sandbox/anvil-binary.ts';
import { readArtifact } from '../../src/sandbox/contract-artifact.ts';
import { startGuarded } from '../../src/sandbox/guarded-process.ts';

const TOKEN = new Interface([
  'constructor(uint256,uint8)',
  'function transfer(address,uint256)',
  'function pause()',
  'function unpause()',
]);
const TRICKS = new Interface([
  'function payMany(address,address[],uint256[])',
  'function pretend(address,address,uint256)',
]);
const TRICKS_SOURCE = `
pragma solidity ^0.8.0;
interface Token { function transfer(address to, uint256 value) external; }
contract Tricks {
    event Transfer(address indexed from, address indexed to, uint256 value);
    function payMany(Token token, address[] calldata to, uint256[] calldata values) external {
        for (uint256 i = 0; i < to.length; i++) token.transfer(to[i], values[i]);
    }
    function pretend(address from, address to, uint256 value) external { emit Transfer(from, to, value); }
}`;

export interface RpcReceipt {
  readonly status: string;
  readonly blockNumber: string;
  readonly blockHash: string;
  readonly contractAddress: string | null;
  readonly logs: readonly { readonly logIndex: string; readonly address: string }[];
}

export interface AnvilOptions {
  readonly chainId?: number;
  /** `finalized` is the head less twice this; default 1. */
  readonly slotsInAnEpoch?: number;
  readonly port?: number;
  /**
   * Keeps only the newest states, which makes thousands of blocks cheap and deep reorganisations impossible. Default
   * false.
   */
  readonly pruned?: boolean;
  /** Hex block-by-block history of an earlier run (`anvil_dumpState`). */
  readonly state?: string;
}

/** A real anvil that makes blocks only when told to, with its unlocked test accounts. End it with `stop`. */
export class Anvil {
  readonly url: string;
  readonly port: number;
  readonly stop: () => Promise<void>;
  #accounts: readonly string[] = [];
  #id = 0;

  private constructor(port: number, stop: () => Promise<void>) {
    this.port = port;
    this.url = `http://127.0.0.1:${port}`;
    this.stop = stop;
  }

  static async start(options: AnvilOptions = {}): Promise<Anvil> {
    const binary = findAnvil();
    if (binary === null) throw new Error('anvil is not installed');
    const process = startGuarded(binary, [
      ...['--host', '127.0.0.1', '--port', String(options.port ?? 0), '--chain-id', String(options.chainId ?? 31337)],
      ...['--no-mining', '--order', 'fifo', '--slots-in-an-epoch', String(options.slotsInAnEpoch ?? 1)],
      ...(options.pruned ? ['--prune-history', '16'] : []),
    ]);
    const port = await new Promise<number>((resolve, reject) => {
      createInterface({ input: process.stdout }).on('line', (line) => {
        const match = /Listening on 127\.0\.0\.1:(\d+)/.exec(line);
        if (match) resolve(Number(match[1]));
      });
      void process.ended.then(() => reject(new Error('anvil ended while it started')));
    });
    const anvil = new Anvil(port, () => process.end());
    anvil.#accounts = (await anvil.rpc('eth_accounts', [])) as string[];
    if (options.state !== undefined) await anvil.rpc('anvil_loadState', [options.state]);
    return anvil;
  }

  async rpc(method: string, params: readonly unknown[]): Promise<unknown> {
    this.#id += 1;
    const answer = await fetch(this.url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: this.#id, method, params }),
    });
    const body = (await answer.json()) as { result?: unknown; error?: { message: string } };
    if (body.error) throw new Error(`${method}: ${body.error.message}`);
    return body.result;
  }

  account(index: number): string {
    return getAddress(this.#accounts[index]!);
  }

  async head(): Promise<number> {
    return Number(await this.rpc('eth_blockNumber', []));
  }

  async mine(blocks = 1): Promise<void> {
    await this.rpc('anvil_mine', [`0x${blocks.toString(16)}`]);
  }

  /** Into the pool, not into a block. */
  async send(to: string | null, data: string, from = this.account(0)): Promise<string> {
    return (await this.rpc('eth_sendTransaction', [
      { from, ...(to === null ? {} : { to }), data, gas: '0x400000' },
    ])) as string;
  }

  async receipt(txHash: string): Promise<RpcReceipt> {
    const receipt = (await this.rpc('eth_getTransactionReceipt', [txHash])) as RpcReceipt | null;
    if (!receipt) throw new Error(`${txHash} is in no block`);
    return receipt;
  }

  async deploy(bytecode: string): Promise<string> {
    const txHash = await this.send(null, bytecode);
    await this.mine();
    return getAddress((await this.receipt(txHash)).contractAddress!);
  }

  /** The sandbox's USDT (its `transfer` returns nothing), all of it on the first account. */
  deployToken(decimals: number): Promise<string> {
    return this.deploy(readArtifact('sandbox-usdt').bytecode + TOKEN.encodeDeploy([10n ** 30n, decimals]).slice(2));
  }

  /** A contract that pays many in one transaction, and one that only pretends to be a token. */
  deployTricks(): Promise<string> {
    return this.deploy(tricksBytecode());
  }

  /** Into the pool, not into a block. */
  transfer(token: string, to: string, units: bigint, from = this.account(0)): Promise<string> {
    return this.send(token, TOKEN.encodeFunctionData('transfer', [to, units]), from);
  }

  payMany(
    tricks: string,
    token: string,
    payments: readonly { readonly to: string; readonly units: bigint }[],
  ): Promise<string> {
    return this.send(
      tricks,
      TRICKS.encodeFunctionData('payMany', [token, payments.map(({ to }) => to), payments.map(({ units }) => units)]),
    );
  }

  /** A `Transfer` log of a contract that is no token. */
  pretend(tricks: string, from: string, to: string, units: bigint): Promise<string> {
    return this.send(tricks, this.pretendData(from, to, units));
  }

  pretendData(from: string, to: string, units: bigint): string {
    return TRICKS.encodeFunctionData('pretend', [from, to, units]);
  }

  /** Every transfer fails from now on. */
  pause(token: string): Promise<string> {
    return this.send(token, TOKEN.encodeFunctionData('pause', []));
  }

  /** Pays and mines one block; answers the transaction. */
  async pay(token: string, to: string, units: bigint): Promise<string> {
    const txHash = await this.transfer(token, to, units);
    await this.mine();
    return txHash;
  }

  /**
   * Replaces the newest blocks by as many others. `put` goes into the new blocks: raw signed transactions with the
   * index of their block, oldest first from 0.
   */
  async reorg(
    depth: number,
    put: readonly (readonly [rawTransaction: string, blockIndex: number])[] = [],
  ): Promise<void> {
    await this.rpc('anvil_reorg', [depth, put]);
  }

  async rawTransaction(txHash: string): Promise<string> {
    return (await this.rpc('eth_getRawTransactionByHash', [txHash])) as string;
  }
}

let compiledTricks: string | undefined;

export function tricksBytecode(): string {
  if (compiledTricks === undefined) {
    const solc = createRequire(import.meta.url)('solc') as { compile(input: string): string };
    const input = {
      language: 'Solidity',
      sources: { 'tricks.sol': { content: TRICKS_SOURCE } },
      settings: { evmVersion: 'paris', outputSelection: { '*': { '*': ['evm.bytecode.object'] } } },
    };
    const output = JSON.parse(solc.compile(JSON.stringify(input))) as {
      contracts: Record<string, Record<string, { evm: { bytecode: { object: string } } }>>;
    };
    compiledTricks = `0x${output.contracts['tricks.sol']!.Tricks!.evm.bytecode.object}`;
  }
  return compiledTricks;
}

/** Settings of a network with this token as its USDT. */
export function localSettings(
  tokenAddress: string,
  change: Partial<NetworkSettings> = {},
  decimals = 6,
): NetworkSettings {
  return {
    network: 'ethereum',
    mode: 'test',
    chainId: '31337',
    tokens: [{ coin: 'USDT', address: tokenAddress, decimals }],
    simulated: false,
    mainNetwork: false,
    explorerTransactionUrl: null,
    ...change,
  };
}
