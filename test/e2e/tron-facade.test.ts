import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { SigningKey } from 'ethers';
import { TronWeb } from 'tronweb';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { createRpcPool } from '../../src/adapters/rpc/pool.ts';
import { createTronChain } from '../../src/adapters/tron/chain.ts';
import type { Chain } from '../../src/ports/chain/chain.ts';
import { startTronFacade } from '../../src/sandbox/tron-facade/start-tron-facade.ts';
import type { TronFacadeOptions, TronSandbox } from '../../src/sandbox/tron-facade/start-tron-facade.ts';
import { descendantsOf, isRunning } from '../support/processes.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const TO = 'TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t';
const folders: string[] = [];
const folder = (): string => {
  const path = temporaryFolder('tron');
  folders.push(path);
  return path;
};

async function start(options: TronFacadeOptions): Promise<TronSandbox> {
  const sandbox = await startTronFacade(options);
  if ('reason' in sandbox) throw new Error(sandbox.reason);
  return sandbox;
}

const chainOf = (sandbox: TronSandbox): Chain =>
  createTronChain({ settings: sandbox.settings, pool: createRpcPool({ network: 'tron', urls: [sandbox.rpcUrl] }) });
const isTo = (address: string): boolean => address === TO;

async function post(sandbox: TronSandbox, path: string, body: object): Promise<Record<string, unknown>> {
  const response = await fetch(`${sandbox.rpcUrl}${path}`, { method: 'POST', body: JSON.stringify(body) });
  return (await response.json()) as Record<string, unknown>;
}

const textOf = (answer: Record<string, unknown>): string =>
  Buffer.from(String(answer['message']), 'hex').toString('utf8');

afterAll(() => {});

describe('the TRON sandbox, block by block', () => {
  let sandbox: TronSandbox;
  let chain: Chain;
  let web: TronWeb;

  beforeAll(async () => {
    sandbox = await start({ directory: folder(), manual: true });
    chain = chainOf(sandbox);
    web = new TronWeb({ fullHost: sandbox.rpcUrl, privateKey: sandbox.privateKeyOf('first') });
    await chain.verify();
  });
  afterAll(async () => {
    await chain.close();
    await sandbox.close();
  });

  const transfer = async (value: string, options: Record<string, unknown> = {}): Promise<Record<string, unknown>> => {
    const parameters = [
      { type: 'address', value: TO },
      { type: 'uint256', value },
    ];
    const built = await web.transactionBuilder.triggerSmartContract(
      sandbox.settings.tokens[0]!.address,
      'transfer(address,uint256)',
      { feeLimit: 40_000_000, ...options },
      parameters,
    );
    return (await web.trx.sign(built.transaction)) as unknown as Record<string, unknown>;
  };

  it('is labelled simulated and names a chain that exists nowhere else', () => {
    expect(sandbox.settings).toMatchObject({
      network: 'tron',
      mode: 'test',
      simulated: true,
      mainNetwork: false,
      chainId: '31339',
    });
    expect(sandbox.settings.tokens.map(({ coin }) => coin)).toEqual(['USDT', 'USDC']);
  });

  it('shows a payment as seen, and as final nineteen blocks later', async () => {
    const before = await chain.head();
    const paid = await sandbox.pay({ coin: 'USDT', to: TO, amount: '12.345678' });
    const head = await chain.head();
    const { transfers, lastBlock } = await chain.scan(before.number + 1, head.number, isTo);
    expect(transfers).toEqual([
      {
        tokenAddress: sandbox.settings.tokens[0]!.address,
        tokenUnits: 12_345_678n,
        fromAddress: sandbox.addressOf('first'),
        toAddress: TO,
        txHash: paid.txHash,
        logIndex: 0,
        block: lastBlock,
      },
    ]);
    sandbox.mine(18);
    expect((await chain.finalized())!.number).toBeLessThan(lastBlock.number);
    sandbox.mine(1);
    expect((await chain.finalized())!.number).toBe(lastBlock.number);
    expect(await chain.transferAt(paid.txHash, 0)).toEqual(transfers[0]);
  });

  it('links every block to the one before', async () => {
    const head = await chain.head();
    const below = await chain.blockAt(head.number - 1);
    expect(below!.hash).toBe(head.parentHash);
    expect(BigInt(`0x${head.hash.slice(0, 16)}`)).toBe(BigInt(head.number));
    expect((await chain.blockAt(0))!.hash).toBe(sandbox.genesis);
    expect(await chain.blockAt(head.number + 1)).toBeNull();
  });

  it('accepts a transfer that tronweb built with the help of the node', async () => {
    const signed = await transfer('1000000');
    expect(await post(sandbox, '/wallet/broadcasttransaction', signed)).toEqual({ result: true, txid: signed['txID'] });
    sandbox.mine(1);
    expect(await chain.transferAt(String(signed['txID']), 0)).toMatchObject({ tokenUnits: 1_000_000n });
    expect(await web.trx.getTransaction(String(signed['txID']))).toMatchObject({
      txID: signed['txID'],
      ret: [{ contractRet: 'SUCCESS' }],
    });
  });

  it('returns false from USDT and still moves the money', async () => {
    const signed = await transfer('5', { txLocal: true });
    await web.trx.sendRawTransaction(signed as never);
    sandbox.mine(1);
    const info = await post(sandbox, '/wallet/gettransactioninfobyid', { value: signed['txID'] });
    expect(info).toMatchObject({ contractResult: ['0'.repeat(64)], receipt: { result: 'SUCCESS' } });
    expect(await chain.transferAt(String(signed['txID']), 0)).toMatchObject({ tokenUnits: 5n });
  });

  it('never credits a transaction that failed on chain', async () => {
    const before = await chain.head();
    const failed = await sandbox.faults!.payAndFail({ coin: 'USDC', to: TO, amount: '1' });
    const head = await chain.head();
    expect((await chain.scan(before.number + 1, head.number, isTo)).transfers).toEqual([]);
    expect(await chain.transferAt(failed.txHash, 0)).toBeNull();
    expect(await post(sandbox, '/wallet/gettransactioninfobyid', { value: failed.txHash })).toMatchObject({
      result: 'FAILED',
      receipt: { result: 'REVERT' },
    });
  });

  it('runs out of energy at the fee limit, as the network does', async () => {
    const signed = await transfer('7', { feeLimit: 100_000, txLocal: true });
    expect(await post(sandbox, '/wallet/broadcasttransaction', signed)).toMatchObject({ result: true });
    sandbox.mine(1);
    const info = await post(sandbox, '/wallet/gettransactioninfobyid', { value: signed['txID'] });
    expect(info).toMatchObject({
      result: 'FAILED',
      receipt: { result: 'OUT_OF_ENERGY', energy_usage_total: 1_000, energy_fee: 100_000 },
    });
    expect(await chain.transferAt(String(signed['txID']), 0)).toBeNull();
  });

  it('distinguishes two transfers of one transaction', async () => {
    const usdt = sandbox.settings.tokens[0]!.address;
    const call = async (
      contract: string,
      selector: string,
      parameters: { type: string; value: unknown }[],
    ): Promise<string> => {
      const built = await web.transactionBuilder.triggerSmartContract(
        contract,
        selector,
        { feeLimit: 100_000_000, txLocal: true },
        parameters,
      );
      const signed = await web.trx.sign(built.transaction);
      expect(await web.trx.sendRawTransaction(signed)).toMatchObject({ result: true });
      sandbox.mine(1);
      return signed.txID;
    };
    await call(usdt, 'approve(address,uint256)', [
      { type: 'address', value: sandbox.batchSender },
      { type: 'uint256', value: 30 },
    ]);
    const txHash = await call(sandbox.batchSender, 'send(address,address[],uint256[])', [
      { type: 'address', value: usdt },
      { type: 'address[]', value: [TO, sandbox.addressOf('second'), TO] },
      { type: 'uint256[]', value: [10, 5, 15] },
    ]);
    const head = await chain.head();
    const { transfers } = await chain.scan(head.number, head.number, isTo);
    expect(transfers.map(({ logIndex, tokenUnits, fromAddress }) => [logIndex, tokenUnits, fromAddress])).toEqual([
      [0, 10n, sandbox.addressOf('first')],
      [2, 15n, sandbox.addressOf('first')],
    ]);
    expect(await chain.transferAt(txHash, 2)).toMatchObject({ tokenUnits: 15n });
  });

  it('refuses what java-tron would refuse', async () => {
    const refused = async (changes: Record<string, unknown>, code: string): Promise<void> => {
      const signed = await transfer('9', { txLocal: true });
      const answer = await post(sandbox, '/wallet/broadcasttransaction', { ...signed, ...changes });
      expect(answer).toMatchObject({ code });
      expect(textOf(answer)).not.toBe('');
    };
    await refused({ signature: [`${'11'.repeat(64)}00`] }, 'SIGERROR');
    await refused({ signature: [] }, 'SIGERROR');
    const parameters = [
      { type: 'address', value: TO },
      { type: 'uint256', value: 9 },
    ];
    const foreign = await web.transactionBuilder.triggerSmartContract(
      sandbox.settings.tokens[0]!.address,
      'transfer(address,uint256)',
      { feeLimit: 40_000_000, txLocal: true },
      parameters,
      sandbox.addressOf('second'),
    );
    const digest = `0x${foreign.transaction.txID}`;
    const signature = new SigningKey(`0x${sandbox.privateKeyOf('first')}`).sign(digest).serialized.slice(2);
    expect(
      await post(sandbox, '/wallet/broadcasttransaction', { ...foreign.transaction, signature: [signature] }),
    ).toMatchObject({
      code: 'SIGERROR',
    });
    const tampered = await transfer('9', { txLocal: true });
    expect(
      await post(sandbox, '/wallet/broadcasttransaction', {
        ...tampered,
        raw_data_hex: String(tampered['raw_data_hex']).replace(/.$/, '1'),
      }),
    ).toMatchObject({ code: 'SIGERROR' });
    const head = await web.trx.getCurrentRefBlockParams();
    const late = await transfer('9', { txLocal: true, blockHeader: { ...head, expiration: Date.now() - 1000 } });
    expect(await post(sandbox, '/wallet/broadcasttransaction', late)).toMatchObject({
      code: 'TRANSACTION_EXPIRATION_ERROR',
    });
    const elsewhere = await transfer('9', { txLocal: true, blockHeader: { ...head, ref_block_hash: '00'.repeat(8) } });
    expect(await post(sandbox, '/wallet/broadcasttransaction', elsewhere)).toMatchObject({ code: 'TAPOS_ERROR' });
    const twice = await transfer('9', { txLocal: true });
    expect(await post(sandbox, '/wallet/broadcasttransaction', twice)).toMatchObject({ result: true });
    expect(await post(sandbox, '/wallet/broadcasttransaction', twice)).toMatchObject({ code: 'DUP_TRANSACTION_ERROR' });
    sandbox.mine(1);
    expect(await post(sandbox, '/wallet/broadcasttransaction', twice)).toMatchObject({ code: 'DUP_TRANSACTION_ERROR' });
  });

  it('charges fees in TRX and refuses accounts that have none', async () => {
    const poor = await TronWeb.createAccount();
    const sender = new TronWeb({ fullHost: sandbox.rpcUrl, privateKey: poor.privateKey });
    const parameters = [
      { type: 'address', value: TO },
      { type: 'uint256', value: 1 },
    ];
    const attempt = async (): Promise<Record<string, unknown>> => {
      const built = await sender.transactionBuilder.triggerSmartContract(
        sandbox.settings.tokens[0]!.address,
        'transfer(address,uint256)',
        { feeLimit: 40_000_000, txLocal: true },
        parameters,
      );
      return post(sandbox, '/wallet/broadcasttransaction', await sender.trx.sign(built.transaction));
    };
    expect(await attempt()).toMatchObject({ code: 'CONTRACT_VALIDATE_ERROR' });
    await sandbox.sendNative(poor.address.base58, 1000);
    expect(await attempt()).toMatchObject({ code: 'BANDWITH_ERROR' });
    await sandbox.sendNative(poor.address.base58, 10_000_000);
    await sandbox.pay({ coin: 'USDT', to: poor.address.base58, amount: '1' });
    expect(await attempt()).toMatchObject({ result: true });
    const balance = await web.trx.getBalance(poor.address.base58);
    expect(balance).toBeLessThan(10_001_000);
    expect(balance).toBeGreaterThan(1_000_000);
  });

  it('freezes accounts and pauses tokens as the issuers of the real ones can', async () => {
    await sandbox.freeze('USDT', sandbox.addressOf('second'), true);
    const frozen = await sandbox.pay({ coin: 'USDT', to: TO, amount: '1', payer: 'second' });
    expect(await chain.transferAt(frozen.txHash, 0)).toBeNull();
    await sandbox.freeze('USDT', sandbox.addressOf('second'), false);
    await sandbox.pause('USDC', true);
    const paused = await sandbox.pay({ coin: 'USDC', to: TO, amount: '1' });
    expect(await chain.transferAt(paused.txHash, 0)).toBeNull();
    await sandbox.pause('USDC', false);
    const paid = await sandbox.pay({ coin: 'USDT', to: TO, amount: '1', payer: 'second' });
    expect(await chain.transferAt(paid.txHash, 0)).toMatchObject({ fromAddress: sandbox.addressOf('second') });
  });

  it('moves a payment to another block in a reorganisation', async () => {
    const before = await chain.head();
    const paid = await sandbox.faults!.payThenReorg({ coin: 'USDT', to: TO, amount: '3' });
    const moved = await chain.transferAt(paid.txHash, 0);
    expect(moved!.block.number).toBeGreaterThan(before.number + 1);
    expect((await chain.scan(before.number + 1, (await chain.head()).number, isTo)).transfers).toHaveLength(1);
    expect((await chain.blockAt(before.number))!.hash).toBe(before.hash);
  });

  it('loses a payment in a reorganisation, together with its effect', async () => {
    const balance = (): Promise<bigint> =>
      web.transactionBuilder
        .triggerConstantContract(sandbox.settings.tokens[0]!.address, 'balanceOf(address)', {}, [
          { type: 'address', value: TO },
        ])
        .then((answer) => BigInt(`0x${answer.constant_result![0]}`));
    const before = await balance();
    const lost = await sandbox.faults!.payThenLose({ coin: 'USDT', to: TO, amount: '3' });
    expect(await chain.transferAt(lost.txHash, 0)).toBeNull();
    expect(await balance()).toBe(before);
  });

  it('refuses amounts that the token cannot express', async () => {
    await expect(sandbox.pay({ coin: 'USDT', to: TO, amount: '0.0000001' })).rejects.toThrow(/decimals/);
  });
});

describe('the TRON sandbox over time', () => {
  const running: { close(): Promise<void> }[] = [];
  afterEach(async () => {
    for (const part of running.splice(0).reverse()) await part.close();
  });

  it('is the same chain after a restart, with every payment and no height used twice', async () => {
    const directory = folder();
    const first = await start({ directory, pace: { busyMs: 50, idleMs: 50, busyBlocks: 1 } });
    const paid = await first.pay({ coin: 'USDT', to: TO, amount: '42' });
    const firstChain = chainOf(first);
    const head = await firstChain.head();
    const transfer = await firstChain.transferAt(paid.txHash, 0);
    await firstChain.close();
    await first.close();

    const second = await start({ directory, pace: { busyMs: 50, idleMs: 50, busyBlocks: 1 } });
    running.push(second);
    const chain = chainOf(second);
    running.push(chain);
    expect(second.genesis).toBe(first.genesis);
    expect(second.settings).toEqual(first.settings);
    expect(await chain.transferAt(paid.txHash, 0)).toEqual(transfer);
    expect((await chain.blockAt(head.number))!.hash).toBe(head.hash);
    const again = await second.pay({ coin: 'USDT', to: TO, amount: '1' });
    expect((await chain.transferAt(again.txHash, 0))!.block.number).toBeGreaterThan(head.number);
    const later = await chain.head();
    expect(later.timeSec).toBeGreaterThanOrEqual(head.timeSec);
  });

  it('loses nothing and leaves nothing running when its process is killed', async () => {
    const directory = folder();
    const script = `
      import { startTronFacade } from ${JSON.stringify(join(import.meta.dirname, '../../src/sandbox/tron-facade/start-tron-facade.ts'))};
      const sandbox = await startTronFacade({ directory: ${JSON.stringify(directory)}, pace: { busyMs: 50, idleMs: 50, busyBlocks: 1 } });
      const paid = await sandbox.pay({ coin: 'USDC', to: '${TO}', amount: '42' });
      console.log(JSON.stringify({ txHash: paid.txHash, genesis: sandbox.genesis }));`;
    const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const line = await new Promise<string>((resolve) =>
      child.stdout.once('data', (chunk: Buffer) => resolve(chunk.toString('utf8'))),
    );
    const { txHash, genesis } = JSON.parse(line) as { txHash: string; genesis: string };
    const children = descendantsOf(child.pid!);
    expect(children.length).toBeGreaterThan(0);
    child.kill('SIGKILL');
    for (let waited = 0; children.some(isRunning) && waited < 100; waited += 1) await sleep(50);
    expect(children.filter(isRunning)).toEqual([]);

    const sandbox = await start({ directory, pace: { busyMs: 50, idleMs: 50, busyBlocks: 1 } });
    running.push(sandbox);
    const chain = chainOf(sandbox);
    running.push(chain);
    expect(sandbox.genesis).toBe(genesis);
    expect(await chain.transferAt(txHash, 0)).toMatchObject({ tokenUnits: 42_000_000n });
    const answer = await post(sandbox, '/wallet/triggerconstantcontract', {
      owner_address: TO,
      contract_address: sandbox.settings.tokens[1]!.address,
      function_selector: 'balanceOf(address)',
      parameter: TronWeb.address.toHex(TO).slice(2).padStart(64, '0'),
    });
    expect(answer['constant_result']).toEqual([(42_000_000).toString(16).padStart(64, '0')]);
  });
});
