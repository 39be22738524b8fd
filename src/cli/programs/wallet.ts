import type { Command } from 'commander';
import { admin } from '../admin-command.ts';
import type { CliHost } from '../host.ts';

/**
 * `quittance wallet ...`. These need neither a service nor a data directory, so that keys can be made on another
 * machine.
 */
export function addWallet(program: Command, host: CliHost): void {
  const wallet = program
    .command('wallet')
    .description(
      'keys: create a keystore, show its recovery words, export public keys, check that both belong together',
    );
  const keys = [
    ['--mode <mode>', 'test or live', true],
    ['--keystore <file>', 'keystore file (default: the wallet of the environment)'],
    ['--passphrase-file <file>', 'file with the passphrase (default: the environment)'],
  ] as const;
  admin(
    wallet,
    host,
    'init',
    'wallet.init',
    'create an encrypted keystore from 24 new words; in live mode shows them at the terminal and asks for some of them',
    [
      ['--mode <mode>', 'test or live', true],
      ['--keystore <file>', 'output file; never overwrites a file', true],
      ['--passphrase-file <file>', 'file with the passphrase; otherwise it is asked for'],
      ['--import <file>', 'read the words from this file instead (- for standard input)'],
      ['--words-later', 'do not show the words now, such as without a terminal: "wallet words" shows them'],
    ],
  );
  admin(
    wallet,
    host,
    'words',
    'wallet.words',
    'show the recovery words of a keystore, at a terminal only, and ask for some of them',
    keys,
  );
  admin(
    wallet,
    host,
    'export-watch-only',
    'wallet.export-watch-only',
    'public keys for hosts that must not hold private ones',
    [
      ...keys,
      ['--solana-pool <n>', 'number of Solana addresses (default 10000; 0 for none)'],
      ['--solana-pool-file <file>', 'where to write them'],
    ],
  );
  admin(
    wallet,
    host,
    'verify',
    'wallet.verify',
    'open the wallet and compare it with WALLET_XPUB_EVM, WALLET_XPUB_TRON and WALLET_SOLANA_POOL',
    keys,
  );
}
