import { pbkdf2Sync } from 'node:crypto';
import { HDKey } from '@scure/bip32';
import { generateMnemonic, validateMnemonic } from '@scure/bip39';
import { wordlist } from '@scure/bip39/wordlists/english.js';
import type { AddressFamily } from '../../domain/networks/networks.ts';
import type { TreasuryAddresses } from '../../ports/outgoing/signer.ts';
import { base58 } from '../../chain-formats/base58.ts';
import { accountOfKey, evmAddressOf, tronAddressOf } from '../chains/account-address.ts';
import { AuditKey } from '../audit/key.ts';
import type { KeyPlace, SigningWallet } from './signing-wallet.ts';
import { SolanaKeys } from '../chains/solana-keys.ts';
import { must } from '../../domain/values/must.ts';

/*
 * Collection addresses are in account 0. Treasury keys are in accounts of their own behind a hardened step: an extended
 * public key and one of its private children reveal the branch's private key, and a collection key handed out for a
 * sweep must not lead to the treasury.
 */
const COLLECTION_BRANCH = { evm: "m/44'/60'/0'/0", tron: "m/44'/195'/0'/0" } as const;
/**
 * Solana's treasury shares account 0 with a collection address, which is harmless: every step of ed25519 is hardened.
 */
const TREASURY_PATH = { evm: "m/44'/60'/1'/0/0", tron: "m/44'/195'/1'/0/0" } as const;

/** The text is not an English BIP-39 mnemonic. The message never repeats it. */
export class InvalidMnemonic extends Error {
  override readonly name = 'InvalidMnemonic';
}

/** 24 random words. */
export const newMnemonic = (): string => generateMnemonic(wordlist, 256);

/** The keys of one mode in the signer's memory. Provides public keys and signatures, never a private key. */
export class Wallet implements SigningWallet {
  readonly evmXpub: string;
  readonly tronXpub: string;
  readonly treasury: TreasuryAddresses;
  /** Signs only checkpoints of the event log. */
  readonly auditKey: AuditKey;
  readonly #solana: SolanaKeys;
  readonly #treasuryKeys: { readonly evm: Uint8Array; readonly tron: Uint8Array };
  /** The branches whose keys sign sweeps. */
  readonly #collection: { readonly evm: HDKey; readonly tron: HDKey };

  /** Throws `InvalidMnemonic`. */
  constructor(mnemonic: string) {
    const seed = seedOf(mnemonic);
    const root = HDKey.fromMasterSeed(seed);
    this.#collection = { evm: root.derive(COLLECTION_BRANCH.evm), tron: root.derive(COLLECTION_BRANCH.tron) };
    this.evmXpub = this.#collection.evm.publicExtendedKey;
    this.tronXpub = this.#collection.tron.publicExtendedKey;
    this.#solana = new SolanaKeys(seed);
    const [evm, tron] = [root.derive(TREASURY_PATH.evm), root.derive(TREASURY_PATH.tron)];
    this.#treasuryKeys = { evm: must(evm.privateKey).slice(), tron: must(tron.privateKey).slice() };
    this.treasury = {
      evm: evmAddressOf(accountOfKey(must(evm.publicKey))),
      tron: tronAddressOf(accountOfKey(must(tron.publicKey))),
      solana: base58(this.#solana.treasuryPublicKey()),
    };
    this.auditKey = new AuditKey(seed);
    root.wipePrivateData();
    seed.fill(0);
  }

  /** Public keys (base58) of `m/44'/501'/i'/0'`. */
  solanaPublicKeys(fromIndex: number, count: number): string[] {
    return this.#solana.publicKeys(fromIndex, count).map(base58);
  }

  collectionAddress(family: AddressFamily, index: number): string {
    if (family === 'solana') return must(this.solanaPublicKeys(index, 1)[0]);
    const account = accountOfKey(
      must(HDKey.fromExtendedKey(family === 'evm' ? this.evmXpub : this.tronXpub).deriveChild(index).publicKey),
    );
    return family === 'evm' ? evmAddressOf(account) : tronAddressOf(account);
  }

  async signDigest(family: 'evm' | 'tron', place: KeyPlace, digest: Uint8Array): Promise<Uint8Array> {
    const { getBytes, SigningKey } = await import('ethers');
    const key =
      place === 'treasury' ? this.#treasuryKeys[family] : must(this.#collection[family].deriveChild(place).privateKey);
    return getBytes(new SigningKey(key).sign(digest).serialized);
  }

  signSolanaMessage(place: KeyPlace, message: Uint8Array): Promise<Uint8Array> {
    return Promise.resolve(
      place === 'treasury' ? this.#solana.signAsTreasury(message) : this.#solana.signAsCollection(place, message),
    );
  }
}

/** BIP-39 without a passphrase; the runtime's PBKDF2 is about eight times as fast as the library's. */
function seedOf(mnemonic: string): Buffer {
  const words = mnemonic.normalize('NFKD').trim().split(/\s+/u).join(' ').toLowerCase();
  if (!validateMnemonic(words, wordlist))
    throw new InvalidMnemonic('not a BIP-39 mnemonic (English words, valid checksum)');
  return pbkdf2Sync(words, 'mnemonic', 2048, 64, 'sha512');
}
