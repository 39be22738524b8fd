import { createPrivateKey, sign } from 'node:crypto';
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { Connection, Keypair, PublicKey } from '@solana/web3.js';
import { Contract, hexlify, JsonRpcProvider, Wallet } from 'ethers';
import { TronWeb } from 'tronweb';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { callAdmin } from '../../src/cli/admin-client.ts';
import { loadPayerKeys } from '../../src/sandbox/payer-keys.ts';
import { findSurfpoolAddon } from '../../src/sandbox/surfpool/addon.ts';
import { loadSolanaGenesis, secretKeyOfSeed } from '../../src/sandbox/surfpool/genesis.ts';
import { demoApprove } from '../support/approvers.ts';
import { eventually, signedCall, startRunningSandbox, type RunningSandbox } from '../support/running-sandbox.ts';

/*
 * A refund goes to the address that the payer named on the payment's page, on every network, and nothing else moves
 * money.
 */

type Refund = {
  readonly id: string;
  readonly status: string;
  readonly waiting_reason?: string | null;
  readonly payouts: readonly { to_address: string }[];
};
type Claim = {
  readonly id: string;
  readonly test_payment: string | null;
  readonly proven: boolean;
  readonly status: string;
  readonly to_address?: string;
};
type Session = {
  readonly id: string;
  readonly status: string;
  readonly deposits: readonly { readonly transaction_id: string }[];
};
type Option = { readonly network: string; readonly address: string };
interface Paid {
  readonly id: string;
  readonly transactionId: string;
  readonly options: readonly Option[];
}

const NETWORKS = ['ethereum', 'bsc', 'tron', ...(findSurfpoolAddon() === null ? [] : ['solana'])];
const isEvm = (network: string): boolean => network === 'ethereum' || network === 'bsc';
const STRANGER = '22'.repeat(32);
const ed25519 = (seed: string) =>
  createPrivateKey({
    key: Buffer.from(`302e020100300506032b657004220420${seed}`, 'hex'),
    format: 'der',
    type: 'pkcs8',
  });
const ethereumOf = (key: string): Wallet => new Wallet(key.startsWith('0x') ? key : `0x${key}`);
const SIGN: Record<string, (key: string, text: string) => Promise<string> | string> = {
  ethereum: (key, text) => ethereumOf(key).signMessage(text),
  bsc: (key, text) => ethereumOf(key).signMessage(text),
  tron: (key, text) => new TronWeb({ fullHost: 'http://127.0.0.1:1' }).trx.signMessageV2(text, key),
  solana: (key, text) => `0x${sign(null, Buffer.from(text), ed25519(key)).toString('hex')}`,
};
const newAddress: Record<string, () => string> = {
  ethereum: () => Wallet.createRandom().address,
  bsc: () => Wallet.createRandom().address,
  tron: () => TronWeb.address.fromPrivateKey(Wallet.createRandom().privateKey.slice(2)) as string,
  solana: () => Keypair.generate().publicKey.toBase58(),
};

describe('a refund to another address than the one that paid', () => {
  let sandbox: RunningSandbox;

  beforeAll(async () => {
    sandbox = await startRunningSandbox({ env: { SANDBOX_NETWORKS: NETWORKS.join(',') } });
    await callAdmin(sandbox.dataDir, 'merchant.set-policy', {
      merchant_id: sandbox.facts.merchant.id,
      refundClaims: 'signature,test_payment',
    });
  }, 180_000);
  afterAll(async () => {
    await sandbox?.stop();
    for (const path of [sandbox?.dataDir, `${sandbox?.dataDir}-signer`]) rmSync(path, { recursive: true, force: true });
  }, 60_000);

  const keyOf = (network: string): string => {
    const at = (path: string): string => join(sandbox.dataDir, 'chains', path);
    if (isEvm(network)) return hexlify(loadPayerKeys(at('payers.key'))(`${network}-first`));
    if (network === 'tron')
      return (JSON.parse(readFileSync(at('tron/genesis.json'), 'utf8')) as { payerKeys: [string] }).payerKeys[0];
    return Buffer.from(secretKeyOfSeed(loadSolanaGenesis(at('solana')).payerSeeds[0]).subarray(0, 32)).toString('hex');
  };
  const balanceOf = async (network: string, owner: string): Promise<number> => {
    const { rpc_url: url, tokens } = sandbox.facts.networks[network]!;
    const token = tokens['USDT']!;
    if (isEvm(network)) {
      const rpc = new JsonRpcProvider(url, undefined, { staticNetwork: true });
      const held = (await new Contract(token, ['function balanceOf(address) view returns (uint256)'], rpc).getFunction(
        'balanceOf',
      )(owner)) as bigint;
      rpc.destroy();
      return Number(held) / (network === 'bsc' ? 1e18 : 1e6);
    }
    if (network === 'tron') {
      const web = new TronWeb({ fullHost: url });
      web.setAddress(owner);
      const { constant_result: held } = await web.transactionBuilder.triggerConstantContract(
        token,
        'balanceOf(address)',
        {},
        [{ type: 'address', value: owner }],
      );
      return Number(BigInt(`0x${held[0]!}`)) / 1e6;
    }
    const accounts = await new Connection(url, 'confirmed').getParsedTokenAccountsByOwner(new PublicKey(owner), {
      mint: new PublicKey(token),
    });
    const amounts = accounts.value.map(
      ({ account }) =>
        (account.data.parsed as { info: { tokenAmount: { uiAmount: number } } }).info.tokenAmount.uiAmount,
    );
    return amounts.reduce((sum, amount) => sum + amount, 0);
  };
  const call = async <Body>(method: string, path: string, body?: unknown): Promise<Body> =>
    (await signedCall(sandbox.facts.base_url, sandbox.facts.merchant, method, path, body)).json as unknown as Body;
  const pay = (id: string, network: string, amount?: string): Promise<unknown> =>
    call('POST', `/v1/sandbox/sessions/${id}/pay`, {
      network,
      ...(amount === undefined ? { case: 'exact' } : { amount }),
    });
  const paid = async (network: string): Promise<Paid> => {
    const order = { amount: '5.00', currency: 'USDT', order_id: `order-${crypto.randomUUID()}` };
    const { id, payment_options: options } = await call<{ id: string; payment_options: Option[] }>(
      'POST',
      '/api/v1/checkout/sessions/create',
      order,
    );
    await pay(id, network);
    const { deposits } = await eventually('the payment', async () => {
      const session = await call<Session>('GET', `/api/v1/checkout/sessions/${id}`);
      return session.status === 'paid' && session;
    });
    return { id, transactionId: deposits[0]!.transaction_id, options };
  };
  const post = async (id: string, fields: Record<string, string>) => {
    const answer = await fetch(`${sandbox.facts.base_url}/pay/${id}/claim`, {
      method: 'POST',
      body: new URLSearchParams(fields),
      redirect: 'manual',
    });
    const page = await answer.text();
    const hidden = Object.fromEntries(
      [...page.matchAll(/type="hidden" name="(\w+)" value="([^"]*)"/g)].map(([, name, value]) => [name!, value!]),
    );
    return { status: answer.status, hidden, text: /<pre[^>]*>([^<]*)<\/pre>/.exec(page)?.[1] ?? '' };
  };
  const begin = ({ id, transactionId }: Paid, payee: string, evidence = 'signature') =>
    post(id, { transaction_id: transactionId, evidence, payee });
  const claimsOf = async ({ id }: Paid): Promise<Claim[]> =>
    (await call<{ data: Claim[] }>('GET', `/v1/payment/sessions/${id}/claims`)).data;
  const approve = ({ id }: Paid, claim: string): Promise<Refund & { error?: { code: string } }> =>
    call('POST', '/v1/refunds', { session_id: id, claim_id: claim });
  const refund = (id: string): Promise<Refund> => call('GET', `/v1/refunds/${id}`);
  const ended = (id: string): Promise<Refund> =>
    eventually(
      'the refund',
      async () => {
        const now = await refund(id);
        return (now.status === 'COMPLETED' || now.status === 'FAILED') && now;
      },
      60_000,
    );

  it.concurrent.each(NETWORKS)(
    'is paid on %s to the payee that the paying key named, and not to another',
    async (network) => {
      const [payment, other] = [await paid(network), await paid(network)];
      const payee = newAddress[network]!();
      const { hidden, text } = await begin(payment, payee);
      const signature = await SIGN[network]!(keyOf(network), text);
      const send = (fields: Record<string, string>, id = payment.id) => post(id, { ...hidden, signature, ...fields });
      const forged = await SIGN[network]!(STRANGER, text);
      expect((await send({ signature: forged })).status).toBe(400);
      expect((await send({ payee: newAddress[network]!() })).status).toBe(400);
      // The same payer's other payment: neither the signature nor the deposit is one of it.
      expect((await send({ transaction_id: other.transactionId }, other.id)).status).toBe(400);
      expect((await send({}, other.id)).status).toBe(409);
      const { treasuries } = (await callAdmin(sandbox.dataDir, 'treasury.status', {})) as unknown as {
        treasuries: Option[];
      };
      for (const ours of [...other.options, ...treasuries].filter((option) => option.network === network))
        expect((await begin(payment, ours.address)).status).toBe(400);
      expect([...(await claimsOf(payment)), ...(await claimsOf(other))]).toEqual([]);

      expect((await send({})).status).toBe(303);
      const [claim] = await claimsOf(payment);
      expect(claim).toMatchObject({ payee, proven: true, status: 'open' });
      expect(await balanceOf(network, payee)).toBe(0);
      // Two approve it at once: it is good for one refund.
      const answers = await Promise.all([approve(payment, claim!.id), approve(payment, claim!.id)]);
      expect(answers.map(({ error }) => error?.code ?? 'accepted').sort()).toEqual(['accepted', 'conflict']);
      const done = await ended(answers.find(({ error }) => !error)!.id);
      expect(done).toMatchObject({ status: 'COMPLETED', payouts: [{ to_address: payee }] });
      expect(await balanceOf(network, payee)).toBe(5);
      expect((await begin(payment, payee)).status).toBe(409);
      expect(await call('POST', '/v1/refunds', { session_id: payment.id })).toMatchObject({
        error: { code: 'refund_exceeds_paid' },
      });
    },
    120_000,
  );

  it.concurrent('waits for a test payment, the merchant and two approvers, and then takes both deposits', async () => {
    const payment = await paid('ethereum');
    const payee = newAddress['ethereum']!();
    const { hidden } = await begin(payment, payee, 'test_payment');
    expect((await post(payment.id, hidden)).status).toBe(303);
    const [claim] = await claimsOf(payment);
    expect(await approve(payment, claim!.id)).toMatchObject({ error: { code: 'conflict' } });
    await pay(payment.id, 'ethereum', claim!.test_payment!);
    await eventually('the test payment', async () => (await claimsOf(payment))[0]!.proven);
    const { id } = await approve(payment, claim!.id);
    await eventually(
      'the wait for approvers',
      async () => (await refund(id)).waiting_reason === 'waiting_for_approval',
    );
    expect(await balanceOf('ethereum', payee)).toBe(0);
    await demoApprove(sandbox.dataDir, 'treasury.approve', { id });
    expect(await ended(id)).toMatchObject({ status: 'COMPLETED' });
    expect(await balanceOf('ethereum', payee)).toBeCloseTo(5 + Number(claim!.test_payment), 6);
  }, 120_000);
});
