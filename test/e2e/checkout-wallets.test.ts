import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Connection, Keypair, Transaction } from '@solana/web3.js';
import { Interface, JsonRpcProvider, Wallet } from 'ethers';
import type { Page } from 'playwright-core';
import { TronWeb } from 'tronweb';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { findSurfpoolAddon } from '../../src/sandbox/surfpool/addon.ts';
import { loadSolanaGenesis, secretKeyOfSeed } from '../../src/sandbox/surfpool/genesis.ts';
import { CHROMIUM } from '../support/browser.ts';
import { CheckoutWorld, type Keys, type Session } from './checkout-world.ts';

/*
 * "Pay with the wallet in this browser": injected test wallets with keys of their own that sign real transactions on
 * the local chains.
 */

const ERC20 = new Interface(['function transfer(address,uint256)']);

if (CHROMIUM === undefined)
  console.warn('checkout: no Chromium on this machine, the tests of the payment page in a browser are skipped');

/** A wallet by EIP-1193 that announces itself by EIP-6963; its key stays outside the page. */
const EVM_WALLET = `(() => {
  const provider = { request: ({ method, params }) => window.walletRequest(method, params ?? []) };
  const info = { uuid: '0d0e8b4e-8e4f-4bd5-9f0e-2f6f3e6a3a11', name: '<b>Test</b> wallet', icon: 'data:,', rdns: 'example.test' };
  const announce = () => dispatchEvent(new CustomEvent('eip6963:announceProvider', { detail: Object.freeze({ info, provider }) }));
  addEventListener('eip6963:requestProvider', announce);
  announce();
})()`;

/** TronLink's shape: the page's calls go to a real TronWeb outside. */
const TRON_WALLET = `(() => {
  const call = (name) => (...args) => window.tronRequest(name, args);
  const tronWeb = {
    defaultAddress: { base58: null },
    trx: { getBlock: call('getBlock'), sign: call('sign'), sendRawTransaction: call('sendRawTransaction') },
    transactionBuilder: { triggerSmartContract: call('triggerSmartContract') },
  };
  window.tronLink = {
    tronWeb,
    request: async ({ method }) => {
      if (method !== 'tron_requestAccounts') throw new Error(method);
      tronWeb.defaultAddress.base58 = await window.tronRequest('address', []);
      return { code: 200 };
    },
  };
})()`;

/** A wallet by the Wallet Standard that stands on `chain` and registers before the page listens, or after it. */
const SOLANA_WALLET = (chain: string, late: boolean): string => `(() => {
  const account = { address: null, publicKey: null, chains: ['${chain}'], features: ['solana:signAndSendTransaction'] };
  const wallet = {
    version: '1.0.0', name: 'Test <i>Sol</i>', icon: 'data:,', chains: ['${chain}'], accounts: [],
    features: {
      'standard:connect': { version: '1.0.0', connect: async () => ({ accounts: [{ ...account, address: await window.solanaRequest('address') }] }) },
      'solana:signAndSendTransaction': {
        version: '1.0.0', supportedTransactionVersions: ['legacy', 0],
        signAndSendTransaction: async (input) => [{ signature: await window.solanaRequest('send', btoa(String.fromCharCode(...input.transaction)), input.chain) }],
      },
    },
  };
  const callback = ({ register }) => register(wallet);
  if (!${late}) {
    dispatchEvent(new CustomEvent('wallet-standard:register-wallet', { detail: callback }));
    addEventListener('wallet-standard:app-ready', ({ detail }) => callback(detail));
  } else addEventListener('load', () => setTimeout(() => dispatchEvent(new CustomEvent('wallet-standard:register-wallet', { detail: callback })), 200));
})()`;

interface Asked {
  readonly method: string;
  readonly params: readonly Record<string, string>[];
}

describe.skipIf(CHROMIUM === undefined)('the wallet in the browser', () => {
  let world: CheckoutWorld;
  let shop: Keys;
  let payer: Wallet;

  beforeAll(async () => {
    world = await CheckoutWorld.start();
    shop = await world.merchant('Mug shop');
    payer = new Wallet(Wallet.createRandom().privateKey);
  });
  afterEach(() => world?.closePages());
  afterAll(async () => world?.stop());

  const chainOf = (network: string) => world.sandbox.facts.networks[network]!;

  /** Gives the payer gas and coins on the network, from the sandbox's test payer. */
  async function fund(network: string): Promise<void> {
    const { rpc_url: url, tokens } = chainOf(network);
    const rpc = new JsonRpcProvider(url, undefined, { staticNetwork: true });
    const session = await world.create(shop);
    const { transfers } = await world.pay(shop, session.id, { network, amount: '1' });
    const rich = transfers[0]!.from_address;
    const units = 1000n * 10n ** BigInt(network === 'bsc' ? 18 : 6);
    await rpc.send('anvil_setBalance', [payer.address, '0xde0b6b3a7640000']);
    await rpc.send('anvil_impersonateAccount', [rich]);
    await rpc.send('eth_sendTransaction', [
      { from: rich, to: tokens.USDT!, data: ERC20.encodeFunctionData('transfer', [payer.address, units]) },
    ]);
    rpc.destroy();
  }

  /** The page with an injected wallet that stands on `chain` and follows a switch when it is told to. */
  async function withEvmWallet(session: Session, standsOn: string, switches: boolean, network: string) {
    const context = await world.context();
    const page = await context.newPage();
    const asked: Asked[] = [];
    let chainId = chainOf(standsOn).chain_id;
    const rpc = new JsonRpcProvider(chainOf(network).rpc_url, undefined, { staticNetwork: true });
    const signer = payer.connect(rpc);
    await page.exposeFunction('walletRequest', async (method: string, params: Record<string, string>[]) => {
      asked.push({ method, params });
      switch (method) {
        case 'eth_requestAccounts':
          return [payer.address];
        case 'eth_chainId':
          return `0x${Number(chainId).toString(16)}`;
        case 'wallet_switchEthereumChain':
          if (!switches) throw new Error('4902');
          chainId = Number(params[0]!.chainId);
          return null;
        case 'eth_sendTransaction': {
          const { to, data, value } = params[0]!;
          return (await signer.sendTransaction({ to: to!, data: data!, value: value! })).hash;
        }
        default:
          throw new Error(`unexpected ${method}`);
      }
    });
    await page.addInitScript(EVM_WALLET);
    await page.goto(session.url);
    await page.locator(`label[for=network-${network}]`).click();
    const done = async (): Promise<void> => {
      rpc.destroy();
      await context.close();
    };
    return { page, asked, done };
  }
  const payButton = (page: Page) =>
    page.getByRole('button', { name: 'Pay with <b>Test</b> wallet' }).locator('visible=true');

  it.each(['ethereum', 'bsc'])('pays exactly what is due to the address of the page on %s', async (network) => {
    await fund(network);
    const session = await world.create(shop);
    const option = session.payment_options.find((candidate) => candidate.network === network)!;
    const { page, asked, done } = await withEvmWallet(session, network, false, network);
    await payButton(page).click();
    await world.shows(page, 'paid');
    const [sent] = asked.filter(({ method }) => method === 'eth_sendTransaction').map(({ params }) => params[0]!);
    expect(sent).toMatchObject({
      from: payer.address,
      to: option.token_address,
      value: '0x0',
      chainId: `0x${Number(option.chain_id).toString(16)}`,
    });
    const units = 135n * 10n ** BigInt(option.decimals - 1);
    expect(ERC20.decodeFunctionData('transfer', sent!.data!).toArray()).toEqual([option.address, units]);
    expect(asked.filter(({ method }) => method === 'eth_sendTransaction')).toHaveLength(1);
    await done();
  });

  it('asks a wallet on another chain to switch, and sends nothing if it does not', async () => {
    const session = await world.create(shop);
    const stubborn = await withEvmWallet(session, 'ethereum', false, 'bsc');
    await payButton(stubborn.page).click();
    await stubborn.page.locator('.said.bad', { hasText: 'Switch it to BNB Smart Chain' }).waitFor();
    expect(stubborn.asked.map(({ method }) => method)).not.toContain('eth_sendTransaction');
    await stubborn.done();
    const willing = await withEvmWallet(session, 'ethereum', true, 'bsc');
    await payButton(willing.page).click();
    await world.shows(willing.page, 'paid');
    await willing.done();
  });

  it('shows no wallet button without a wallet', async () => {
    const session = await world.create(shop);
    const { page } = await world.open(session.url);
    expect(await page.locator('.browser-wallet').locator('visible=true').count()).toBe(0);
  });

  /** The page with TronLink; `chain` is the id that its network's first block ends with. */
  async function withTronLink(session: Session, chain: number) {
    const context = await world.context();
    const page = await context.newPage();
    const { payerKeys } = JSON.parse(readFileSync(join(world.sandbox.dataDir, 'chains/tron/genesis.json'), 'utf8')) as {
      payerKeys: [string, string];
    };
    const web = new TronWeb({ fullHost: chainOf('tron').rpc_url, privateKey: payerKeys[0] });
    const called: string[] = [];
    await page.exposeFunction('tronRequest', async (name: string, args: never[]) => {
      called.push(name);
      switch (name) {
        case 'address':
          return web.defaultAddress.base58;
        case 'getBlock':
          return { blockID: chain.toString(16).padStart(64, '0') };
        case 'triggerSmartContract':
          return web.transactionBuilder.triggerSmartContract(
            ...(args as unknown as Parameters<typeof web.transactionBuilder.triggerSmartContract>),
          );
        case 'sign':
          return web.trx.sign(args[0]!);
        default:
          return web.trx.sendRawTransaction(args[0]!);
      }
    });
    await page.addInitScript(TRON_WALLET);
    await page.goto(session.url);
    await page.locator('label[for=network-tron]').click();
    return { page, called, done: () => context.close() };
  }

  it('pays through TronLink, and only on the network of the page', async () => {
    const session = await world.create(shop);
    const button = (page: Page) => page.getByRole('button', { name: 'Pay with TronLink' }).locator('visible=true');
    const elsewhere = await withTronLink(session, 728_126_428);
    await button(elsewhere.page).click();
    await elsewhere.page.locator('.said.bad', { hasText: 'Switch it to TRON' }).waitFor();
    expect(elsewhere.called).not.toContain('sign');
    await elsewhere.done();
    const right = await withTronLink(session, Number(chainOf('tron').chain_id));
    await button(right.page).click();
    await world.shows(right.page, 'paid');
    expect(right.called.filter((name) => name === 'sendRawTransaction')).toHaveLength(1);
    await right.done();
  });

  describe.skipIf(findSurfpoolAddon() === null)('on Solana', () => {
    /** The page with a wallet of the standard whose key stays outside; answers what it signed and for which chain. */
    async function withSolanaWallet(session: Session, chain: string, late = false) {
      const { payerSeeds } = loadSolanaGenesis(join(world.sandbox.dataDir, 'chains/solana'));
      const key = Keypair.fromSecretKey(secretKeyOfSeed(payerSeeds[0]));
      const connection = new Connection(chainOf('solana').rpc_url, 'confirmed');
      const signed: { transaction: Transaction; chain: string }[] = [];
      const context = await world.context();
      const page = await context.newPage();
      await page.exposeFunction('solanaRequest', async (what: string, base64 = '', chainName = '') => {
        if (what === 'address') return key.publicKey.toBase58();
        const transaction = Transaction.from(Buffer.from(base64, 'base64'));
        transaction.sign(key);
        signed.push({ transaction, chain: chainName });
        return connection.sendRawTransaction(transaction.serialize());
      });
      await page.addInitScript(SOLANA_WALLET(chain, late));
      await page.goto(session.url);
      await page.locator('label[for=network-solana]').click();
      return { page, signed, key, done: () => context.close() };
    }
    const button = (page: Page) =>
      page.getByRole('button', { name: 'Pay with Test <i>Sol</i>' }).locator('visible=true');

    it.each([false, true])(
      'pays exactly what is due through a wallet of the Wallet Standard (registered late: %s)',
      async (late) => {
        const session = await world.create(shop);
        const option = session.payment_options.find(({ network }) => network === 'solana')!;
        const { page, signed, key, done } = await withSolanaWallet(session, 'solana:localnet', late);
        await button(page).click();
        await world.shows(page, 'paid');
        expect(signed).toHaveLength(1);
        const [{ transaction, chain }] = signed as [(typeof signed)[0]];
        expect(chain).toBe('solana:localnet');
        const transfer = transaction.instructions.at(-1)!;
        // TransferChecked: tag 12, base units in 8 bytes, decimals; the last key is the reference.
        expect([...transfer.data]).toEqual([
          12,
          ...new Uint8Array(new BigUint64Array([13_500_000n]).buffer),
          option.decimals,
        ]);
        expect(transfer.keys.slice(0, 4).map(({ pubkey }) => pubkey.toBase58())).toEqual([
          expect.any(String),
          option.token_address,
          expect.any(String),
          key.publicKey.toBase58(),
        ]);
        expect(transfer.keys[4]).toMatchObject({ isSigner: false, isWritable: false });
        const paid = await world.get(shop, session.id);
        expect(paid).toMatchObject({ status: 'paid', received: '13.50' });
        await done();
      },
    );

    it('offers nothing to a wallet on another chain', async () => {
      const { page, done } = await withSolanaWallet(await world.create(shop), 'solana:mainnet');
      await page.locator('.address').locator('visible=true').waitFor();
      expect(await button(page).count()).toBe(0);
      await done();
    });

    it('composes no transfer of another amount or coin, for no key, and for nothing that is paid', async () => {
      const session = await world.create(shop);
      const ask = async (query: string) => (await fetch(`${session.url}/solana-transfer?coin=USDT&${query}`)).status;
      const payer = Keypair.generate().publicKey.toBase58();
      expect(await ask(`payer=${payer}&units=13500000`)).toBe(200);
      expect(await ask(`payer=${payer}&units=13500001`)).toBe(409);
      expect(await ask(`payer=${payer}`)).toBe(409);
      expect((await fetch(`${session.url}/solana-transfer?coin=USDC&payer=${payer}&units=13500000`)).status).toBe(409);
      expect(await ask('payer=nonsense&units=13500000')).toBe(400);
      expect(await ask('units=13500000')).toBe(400);
      await world.cancel(shop, session.id);
      expect(await ask(`payer=${payer}&units=13500000`)).toBe(404);
    });
  });
});
