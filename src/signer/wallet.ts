import { pbkdf2Sync } from 'node:crypto';
import { HDKey } from '@scure/bip32';
import { generateMnemonic, validateMnemonic } from '@scure/bip39';
import { wordlist } from '@scure/bip39/wordlists/english.js';
import type { AddressFamily } from '../domain/networks.ts';
import type { TreasuryAddresses } from '../ports/payouts.ts';
import { base58 } from '../runtime/base58.ts';
import { accountOfKey, evmAddressOf, tronAddressOf } from './account-address.ts';
import { AuditKey } from './audit-key.ts';
import { SolanaKeys } from './solana-keys.ts';

/*
 * Collection addresses live in account 0. Treasury keys live in accounts of their own behind a hardened step: whoever
 * learns an extended public key and one of its private children can compute the branch's private key, and a collection
 * key handed out for a sweep must not lead to the treasury.
 */
const COLLECTION_BRANCH = { evm: "m/44'/60'/0'/0", tron: "m/44'/195'/0'/0" } as const;
/** Solana's treasury shares account 0 with a collection address, which is harmless: every step of ed25519 is hardened. */
const TREASURY_PATH = { evm: "m/44'/60'/1'/0/0", tron: "m/44'/195'/1'/0/0" } as const;

/** The words are not a BIP-39 mnemonic in English. The message never repeats them. */
export class InvalidMnemonic extends Error {
  override readonly name = 'InvalidMnemonic';
}

/** 24 random words. */
export const newMnemonic = (): string => generateMnemonic(wordlist, 256);

/** The keys of one mode. Lives in the signer's memory only; hands out public keys. */
export class Wallet {
  readonly evmXpub: string;
  readonly tronXpub: string;
  /** Where refunds are paid from. */
  readonly treasury: TreasuryAddresses;
  /** Signs checkpoints of the ledger and nothing else. */
  readonly auditKey: AuditKey;
  readonly #solana: SolanaKeys;
  readonly #treasuryKeys: { readonly evm: Uint8Array; readonly tron: Uint8Array };
  /** The branches that sweeps sign from. */
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
    this.#treasuryKeys = { evm: evm.privateKey!.slice(), tron: tron.privateKey!.slice() };
    this.treasury = {
      evm: evmAddressOf(accountOfKey(evm.publicKey!)),
      tron: tronAddressOf(accountOfKey(tron.publicKey!)),
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

  /** The collection address that sessions show at this place of the wallet. */
  collectionAddress(family: AddressFamily, index: number): string {
    if (family === 'solana') return this.solanaPublicKeys(index, 1)[0]!;
    const account = accountOfKey(HDKey.fromExtendedKey(family === 'evm' ? this.evmXpub : this.tronXpub).deriveChild(index).publicKey!);
    return family === 'evm' ? evmAddressOf(account) : tronAddressOf(account);
  }

  /** 32 secret bytes; they never leave this process. */
  treasuryKey(family: 'evm' | 'tron'): Uint8Array {
    return this.#treasuryKeys[family];
  }

  /** 32 secret bytes of a collection address; they never leave this process. */
  collectionKey(family: 'evm' | 'tron', index: number): Uint8Array {
    return this.#collection[family].deriveChild(index).privateKey!;
  }

  /** Ed25519 signature (64 bytes) by the collection address at this place. */
  signForSolanaCollection(index: number, message: Uint8Array): Uint8Array {
    return this.#solana.signAsCollection(index, message);
  }

  /** Ed25519 signature (64 bytes) by Solana's treasury. */
  signForSolanaTreasury(message: Uint8Array): Uint8Array {
    return this.#solana.signAsTreasury(message);
  }
}

/** BIP-39 without a passphrase; the runtime's PBKDF2 is about eight times as fast as the library's. */
function seedOf(mnemonic: string): Buffer {
  const words = mnemonic.normalize('NFKD').trim().split(/\s+/u).join(' ').toLowerCase();
  if (!validateMnemonic(words, wordlist)) throw new InvalidMnemonic('not a BIP-39 mnemonic (English words, valid checksum)');
  return pbkdf2Sync(words, 'mnemonic', 2048, 64, 'sha512');
}
