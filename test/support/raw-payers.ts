import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TransactionInstruction } from '@solana/web3.js';
import { Connection, Keypair, PublicKey, SystemProgram, Transaction } from '@solana/web3.js';
import * as spl from '@solana/spl-token';
import { Contract, ContractFactory, getCreateAddress, JsonRpcProvider, NonceManager, Wallet } from 'ethers';
import { TronWeb } from 'tronweb';
import { readArtifact } from '../../src/sandbox/contract-artifact.ts';
import { loadSolanaGenesis, secretKeyOfSeed } from '../../src/sandbox/surfpool/genesis.ts';
import { tricksBytecode } from './anvil.ts';
import { eventually, type RunningSandbox } from './running-sandbox.ts';

/**
 * What the test wallet of the sandbox cannot do: odd transactions of a stranger on a local chain. Each resolves once it
 * is in a block.
 */
export interface RawPayer {
  /** A transfer of nothing, as address poisoners send it. */
  sendZero(to: string): Promise<void>;
  /** Money of a token that only calls itself USDT; null where none can be made. */
  readonly sendFake: ((to: string) => Promise<void>) | null;
  /** A transfer that lands without effect. */
  sendFailing(to: string, units: bigint): Promise<void>;
  /** Base units of the native coin. Resolves with the transaction. */
  sendNative(to: string, units?: bigint): Promise<string>;
  /** Several transfers in one transaction. */
  sendMany(payments: readonly { readonly to: string; readonly units: bigint }[]): Promise<void>;
}

/** Of a sandbox that runs: where its nodes are, and where the keys of its payers lie. */
interface LocalChains {
  readonly facts: {
    readonly networks: Readonly<
      Record<string, { readonly rpc_url: string; readonly tokens: Readonly<Record<string, string>> }>
    >;
  };
  readonly dataDir: string;
}

const TOKEN_ABI = ['constructor(uint256,uint8)', 'function transfer(address,uint256)'];
const BATCH_ABI = ['function payMany(address,address[],uint256[])'];
/** Enough to be accepted, too little to finish a transfer. */
const STARVED_GAS = 25_000;

/** A stranger on Ethereum or BSC; `rich` holds the sandbox's coins and lends its name once. */
export async function evmPayer(
  sandbox: RunningSandbox,
  network: 'ethereum' | 'bsc',
  rich: string,
): Promise<RawPayer & { close(): void }> {
  const { rpc_url: url, tokens } = sandbox.facts.networks[network]!;
  const rpc = new JsonRpcProvider(url, undefined, { staticNetwork: true, pollingInterval: 200 });
  const wallet = new Wallet(Wallet.createRandom().privateKey, rpc);
  const signer = new NonceManager(wallet);
  await rpc.send('anvil_setBalance', [wallet.address, '0xde0b6b3a7640000']);
  await rpc.send('anvil_impersonateAccount', [rich]);
  const usdt = new Contract(tokens.USDT!, TOKEN_ABI, signer);
  const funds = 10n ** (network === 'bsc' ? 24n : 12n);
  const lend = usdt.interface.encodeFunctionData('transfer', [wallet.address, funds]);
  await rpc.waitForTransaction(await rpc.send('eth_sendTransaction', [{ from: rich, to: tokens.USDT!, data: lend }]));
  const fake = await new ContractFactory(TOKEN_ABI, readArtifact('sandbox-usdt').bytecode, signer).deploy(funds, 6);
  const batch = await new ContractFactory(BATCH_ABI, tricksBytecode(), signer).deploy();
  const landed = async (sent: Promise<{ wait(): Promise<unknown> }>): Promise<void> => void (await (await sent).wait());
  const call = (contract: Contract | typeof fake, name: string, ...args: unknown[]) =>
    landed(contract.getFunction(name)(...args));
  await fake.waitForDeployment();
  await batch.waitForDeployment();
  await call(usdt, 'transfer', await batch.getAddress(), funds / 2n);
  return {
    sendZero: (to) => call(usdt, 'transfer', to, 0n),
    sendFake: (to) => call(fake, 'transfer', to, funds / 100_000n),
    sendFailing: async (to, units) => {
      const { hash } = await usdt.getFunction('transfer')(to, units, { gasLimit: STARVED_GAS });
      await eventually('the failed transaction', async () => (await rpc.getTransactionReceipt(hash))?.status === 0);
    },
    sendNative: async (to, value = 1_000_000n) => {
      const sent = await signer.sendTransaction({ to, value });
      await sent.wait();
      return sent.hash;
    },
    sendMany: async (payments) =>
      call(
        batch,
        'payMany',
        tokens.USDT!,
        payments.map(({ to }) => to),
        payments.map(({ units }) => units),
      ),
    close: () => rpc.destroy(),
  };
}

/** Holds the sandbox's TRON tokens; its contracts are the first that this account made. */
const TRON_ISSUER = '0x00000000000000000000000000000000155e4001';
const FEE_LIMIT = 40_000_000;

/** A stranger on TRON, with the key of the sandbox's second payer. */
export async function tronPayer(sandbox: LocalChains): Promise<RawPayer> {
  const { rpc_url: url, tokens } = sandbox.facts.networks.tron!;
  const { payerKeys } = JSON.parse(readFileSync(join(sandbox.dataDir, 'chains/tron/genesis.json'), 'utf8')) as {
    payerKeys: [string, string];
  };
  const web = new TronWeb({ fullHost: url, privateKey: payerKeys[1] });
  const batch = TronWeb.address.fromHex(getCreateAddress({ from: TRON_ISSUER, nonce: 2 }).replace(/^0x/, '41'));
  const landed = async (txID: string): Promise<void> => {
    await eventually(
      `transaction ${txID}`,
      async () => (await web.trx.getUnconfirmedTransactionInfo(txID)).id === txID,
    );
  };
  const call = async (
    contract: string,
    selector: string,
    parameters: { type: string; value: unknown }[],
    feeLimit = FEE_LIMIT,
  ): Promise<void> => {
    const built = await web.transactionBuilder.triggerSmartContract(
      contract,
      selector,
      { feeLimit, txLocal: true },
      parameters,
    );
    const signed = await web.trx.sign(built.transaction);
    const { result } = await web.trx.sendRawTransaction(signed);
    if (!result) throw new Error(`${selector} was refused`);
    await landed(signed.txID);
  };
  const transfer = (to: string, units: bigint, feeLimit?: number) =>
    call(
      tokens.USDT!,
      'transfer(address,uint256)',
      [
        { type: 'address', value: to },
        { type: 'uint256', value: String(units) },
      ],
      feeLimit,
    );
  await call(tokens.USDT!, 'approve(address,uint256)', [
    { type: 'address', value: batch },
    { type: 'uint256', value: String(10n ** 24n) },
  ]);
  return {
    sendZero: (to) => transfer(to, 0n),
    sendFake: null,
    sendFailing: (to, units) => transfer(to, units, 100_000),
    sendNative: async (to, units = 1_000_000n) => {
      const signed = await web.trx.sign(await web.transactionBuilder.sendTrx(to, Number(units)));
      await web.trx.sendRawTransaction(signed);
      await landed(signed.txID);
      return signed.txID;
    },
    sendMany: (payments) =>
      call(batch, 'send(address,address[],uint256[])', [
        { type: 'address', value: tokens.USDT! },
        { type: 'address[]', value: payments.map(({ to }) => to) },
        { type: 'uint256[]', value: payments.map(({ units }) => String(units)) },
      ]),
  };
}

/** A stranger on Solana, with the key of the sandbox's second payer. */
export function solanaPayer(sandbox: LocalChains): RawPayer {
  const { rpc_url: url, tokens } = sandbox.facts.networks.solana!;
  const { payerSeeds } = loadSolanaGenesis(join(sandbox.dataDir, 'chains/solana'));
  const payer = Keypair.fromSecretKey(secretKeyOfSeed(payerSeeds[1]));
  const connection = new Connection(url, 'confirmed');
  const mint = new PublicKey(tokens.USDT!);
  const send = async (
    instructions: readonly TransactionInstruction[],
    options: { signers?: Keypair[]; fails?: boolean } = {},
  ): Promise<string> => {
    const { blockhash } = await connection.getLatestBlockhash();
    const transaction = new Transaction().add(...instructions);
    transaction.feePayer = payer.publicKey;
    transaction.recentBlockhash = blockhash;
    transaction.sign(payer, ...(options.signers ?? []));
    const signature = await connection.sendRawTransaction(transaction.serialize(), {
      skipPreflight: options.fails ?? false,
    });
    await eventually(`transaction ${signature}`, async () => {
      const found = await connection.getTransaction(signature, {
        commitment: 'confirmed',
        maxSupportedTransactionVersion: 0,
      });
      return found !== null && (found.meta?.err === null) !== (options.fails ?? false);
    });
    return signature;
  };
  const pay = (to: string, units: bigint, token = mint): TransactionInstruction[] => {
    const owner = new PublicKey(to);
    const account = spl.getAssociatedTokenAddressSync(token, owner, true);
    return [
      spl.createAssociatedTokenAccountIdempotentInstruction(payer.publicKey, account, owner, token),
      spl.createTransferCheckedInstruction(
        spl.getAssociatedTokenAddressSync(token, payer.publicKey),
        token,
        account,
        payer.publicKey,
        units,
        6,
      ),
    ];
  };
  return {
    sendZero: async (to) => void (await send(pay(to, 0n))),
    sendFake: async (to) => {
      const fake = Keypair.generate();
      const lamports = await connection.getMinimumBalanceForRentExemption(spl.MINT_SIZE);
      const owner = new PublicKey(to);
      const account = spl.getAssociatedTokenAddressSync(fake.publicKey, owner, true);
      const made = {
        fromPubkey: payer.publicKey,
        newAccountPubkey: fake.publicKey,
        lamports,
        space: spl.MINT_SIZE,
        programId: spl.TOKEN_PROGRAM_ID,
      };
      const instructions = [
        SystemProgram.createAccount(made),
        spl.createInitializeMint2Instruction(fake.publicKey, 6, payer.publicKey, null),
        spl.createAssociatedTokenAccountIdempotentInstruction(payer.publicKey, account, owner, fake.publicKey),
        spl.createMintToInstruction(fake.publicKey, account, payer.publicKey, 10_000_000n),
      ];
      await send(instructions, { signers: [fake] });
    },
    sendFailing: async (to) => void (await send(pay(to, 10n ** 18n), { fails: true })),
    sendNative: (to, lamports = 1_000_000n) =>
      send([SystemProgram.transfer({ fromPubkey: payer.publicKey, toPubkey: new PublicKey(to), lamports })]),
    sendMany: async (payments) => void (await send(payments.flatMap(({ to, units }) => pay(to, units)))),
  };
}
