import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createRpcPool } from '../../src/adapters/rpc/pool.ts';
import { TronOutgoing } from '../../src/adapters/tron/outgoing.ts';
import { accountOfBase58, toBase58Address } from '../../src/adapters/tron/address.ts';
import { startTronFacade, type TronSandbox } from '../../src/sandbox/tron-facade/start-tron-facade.ts';
import { REPOSITORY } from '../support/repository.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

/* The sandbox's TRON node beside a real one (java-tron 4.8.0): equal questions, answers of equal form. */

const real = (file: string): unknown =>
  JSON.parse(readFileSync(join(REPOSITORY, 'test/fixtures/chains/java-tron-4.8.0', `${file}.json`), 'utf8'));
const hexOf = (address: string): string => `41${address}`;
const [NOBODY, GIVEN] = [hexOf('5a'.repeat(20)), hexOf('5b'.repeat(20))];

/** What the sandbox has no use for. */
const LEFT_OUT =
  /^(block_header\.raw_data\.(version|witness_id)|bytecode|code_hash|consume_user_resource_percent|name|origin_.*|version|abi.*|create_time|latest_.*|free_net_usage|freeNet.*|net_window_size|account_.*|owner_permission.*|active_permission.*|frozenV2.*|type|transaction\..*|logs.*|receipt\.(net_usage|energy_usage)|resMessage)$/;

/** The names of all fields, with the kinds of their values; lists by their first element. */
function formOf(value: unknown, at = ''): string[] {
  if (Array.isArray(value)) return value.length === 0 ? [`${at}: empty list`] : formOf(value[0], `${at}[]`);
  if (typeof value !== 'object' || value === null) return [`${at}: ${typeof value}`];
  return Object.entries(value).flatMap(([name, part]) => formOf(part, at === '' ? name : `${at}.${name}`));
}
const usedForm = (value: unknown): string[] =>
  formOf(value)
    .filter((line) => !LEFT_OUT.test(line.replace(/:.*$/, '').replaceAll('[]', '')))
    .toSorted();

let sandbox: TronSandbox;
let paid: string;
let blockNumber: number;
let token: string;

async function ask(path: string, body: unknown): Promise<{ status: number; type: string; text: string }> {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const answer = await fetch(`${sandbox.rpcUrl}${path}`, { method: 'POST', body: text });
  return { status: answer.status, type: answer.headers.get('content-type') ?? '', text: await answer.text() };
}
const answerOf = async (call: string, body: unknown): Promise<unknown> =>
  JSON.parse((await ask(call.includes('/') ? call : `/wallet/${call}`, body)).text) as unknown;

beforeAll(async () => {
  const started = await startTronFacade({ directory: temporaryFolder('tron-forms'), manual: true });
  if ('reason' in started) throw new Error(started.reason);
  sandbox = started;
  token = hexOf(accountOfBase58(started.settings.tokens[0]!.address)!);
  paid = (await sandbox.pay({ coin: 'USDT', to: toBase58Address(GIVEN.slice(2)), amount: '2' })).txHash;
  sandbox.mine(30);
  ({ blockNumber } = (await answerOf('gettransactioninfobyid', { value: paid })) as { blockNumber: number });
});
afterAll(() => sandbox.close());

const call = (selector: string, parameter: string, contract = token, owner = token) => ({
  ...{ owner_address: owner, contract_address: contract, function_selector: selector, parameter },
});
const word = (hex: string): string => hex.padStart(64, '0');

describe('the sandbox answers in the form of a real TRON node', () => {
  it.each<[string, string, () => unknown]>([
    ['getblock-newest', 'getblock', () => ({ detail: false })],
    ['getblock-future', 'getblock', () => ({ id_or_num: '9999999', detail: false })],
    ['solidity-getnowblock', '/walletsolidity/getnowblock', () => ({})],
    ['getblockbynum-future', 'getblockbynum', () => ({ num: 9_999_999 })],
    ['getblockbylimitnext-101', 'getblockbylimitnext', () => ({ startNum: 1, endNum: 102 })],
    ['getblockbylimitnext-all-future', 'getblockbylimitnext', () => ({ startNum: 9_999_990, endNum: 9_999_999 })],
    ['infobyblock-0', 'gettransactioninfobyblocknum', () => ({ num: 0 })],
    ['infobyblock-empty', 'gettransactioninfobyblocknum', () => ({ num: 1 })],
    ['infobyblock-future', 'gettransactioninfobyblocknum', () => ({ num: 9_999_999 })],
    ['infobyid-unknown', 'gettransactioninfobyid', () => ({ value: 'a'.repeat(64) })],
    ['infobyid-nohex', 'gettransactioninfobyid', () => ({ value: 'xyz' })],
    ['getaccount-unknown', 'getaccount', () => ({ address: NOBODY })],
    ['getaccount-contract', 'getaccount', () => ({ address: token })],
    ['getaccountresource-unknown', 'getaccountresource', () => ({ address: NOBODY })],
    ['getaccountresource', 'getaccountresource', () => ({ address: token })],
    ['getcontract', 'getcontract', () => ({ value: token })],
    ['getcontract-none', 'getcontract', () => ({ value: NOBODY })],
    ['constant-no-contract', 'triggerconstantcontract', () => call('paused()', '', NOBODY)],
    ['constant-balanceOf', 'triggerconstantcontract', () => call('balanceOf(address)', word(GIVEN.slice(2)))],
    ['constant-decimals', 'triggerconstantcontract', () => call('decimals()', '')],
    [
      'constant-revert',
      'triggerconstantcontract',
      () => call('transfer(address,uint256)', word(GIVEN.slice(2)) + word('ff'), token, NOBODY),
    ],
    ['broadcast-empty', 'broadcasttransaction', () => ({})],
    ['broadcast-raw-hex-only', 'broadcasttransaction', () => ({ raw_data_hex: '00' })],
  ])('to the question of %s', async (file, path, body) => {
    const expected = real(file) as { readonly text?: string };
    const whole: unknown = expected.text === undefined ? expected : JSON.parse(expected.text);
    expect(usedForm(await answerOf(path, body()))).toEqual(usedForm(whole));
  });

  it('about a payment, by its id in either case and in its block', async () => {
    const info = await answerOf('gettransactioninfobyid', { value: paid });
    expect(await answerOf('gettransactioninfobyid', { value: paid.toUpperCase() })).toEqual(info);
    expect(await answerOf('gettransactioninfobyblocknum', { num: blockNumber })).toEqual([info]);
    // The real one had bandwidth of its own.
    expect(usedForm(info)).toEqual([...usedForm(real('infobyid')), 'receipt.net_fee: number'].toSorted());
  });

  it('with a page where it knows no such call', async () => {
    const { status, type } = real('unknown-path') as { status: number; type: string };
    for (const path of ['/wallet/nosuchcall', '/nowhere', '/wallet/getBlock'])
      expect(await ask(path, {})).toMatchObject({ status, type, text: expect.stringContaining('<html>') });
  });

  it('with an error and status 200 to what is no JSON', async () => {
    expect(await ask('/wallet/getblockbynum', '\u001a')).toMatchObject({
      status: 200,
      text: expect.stringContaining('"Error"'),
    });
  });

  it("about an account that the first TRX makes, and whose making costs more than the receipt's parts show", async () => {
    const { txHash } = await sandbox.sendNative(toBase58Address(GIVEN.slice(2)), 7);
    sandbox.mine(1);
    expect(await answerOf('gettransactioninfobyid', { value: txHash })).toMatchObject({
      fee: 1_100_000,
      receipt: { net_fee: 100_000 },
    });
    expect(await answerOf('getaccount', { address: GIVEN })).toEqual({ address: GIVEN, balance: 7 });
  });
});

describe('a call that the sandbox breaks off', () => {
  it('has the form of a busy node, and is no balance of zero', async () => {
    sandbox.breakOffCalls(1);
    const busy = await answerOf('triggerconstantcontract', call('decimals()', ''));
    expect(busy).toEqual(real('constant-OUT_OF_TIME'));
    const pool = createRpcPool({ network: 'tron', urls: [sandbox.rpcUrl], maxWaitMs: 0 });
    const outgoing = new TronOutgoing({ settings: sandbox.settings, pool, lifetimeMs: 60_000 });
    const sound = await outgoing.balances(toBase58Address(GIVEN.slice(2)));
    expect(sound.coins.USDT).toBe(2n * 10n ** 18n);
    sandbox.breakOffCalls(2);
    expect(await outgoing.balances(toBase58Address(GIVEN.slice(2)))).toEqual(sound);
    sandbox.breakOffCalls(1_000);
    await expect(outgoing.balances(toBase58Address(GIVEN.slice(2)))).rejects.toThrow(/OTHER_ERROR.*CPU timeout/);
    await outgoing.close();
  });
});
