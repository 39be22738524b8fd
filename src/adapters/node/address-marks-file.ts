import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { mkdir, open, readFile, rename } from 'node:fs/promises';
import { join } from 'node:path';
import type { AddressMark, AddressMarks } from '../../ports/chain/address-safety.ts';

/** One file per wallet in a directory, replaced atomically. Rejects when the directory cannot be read or written. */
export function fileAddressMarks(directory: string): AddressMarks {
  const pathOf = (mode: string, family: string, firstAddress: string): string =>
    join(directory, `addresses-${mode}-${family}-${hash('sha256', firstAddress).slice(0, 16)}.json`);
  return {
    read: async (...wallet) => {
      const text = await readFile(pathOf(...wallet), 'utf8').catch((error: NodeJS.ErrnoException) => {
        if (error.code === 'ENOENT') return null;
        throw error;
      });
      return text === null ? null : parse(text, pathOf(...wallet));
    },
    write: async (mode, family, firstAddress, mark) => {
      const path = pathOf(mode, family, firstAddress);
      await mkdir(directory, { recursive: true, mode: 0o700 });
      const file = await open(`${path}.new`, 'w', 0o600);
      try {
        await file.writeFile(`${JSON.stringify(mark)}\n`);
        await file.sync();
      } finally {
        await file.close();
      }
      await rename(`${path}.new`, path);
      const folder = await open(directory, 'r');
      await folder.sync().finally(() => folder.close());
    },
  };
}

export interface KeptMark extends AddressMark {
  readonly mode: string;
  readonly family: string;
}

/** The mark in the file with that name; null if it is not a mark. */
export function markIn(directory: string, name: string): KeptMark | null {
  const [, mode, family] = /^addresses-(test|live)-(evm|tron|solana)-[0-9a-f]{16}\.json$/.exec(name) ?? [];
  if (mode === undefined || family === undefined) return null;
  const path = join(directory, name);
  return { mode, family, ...parse(readFileSync(path, 'utf8'), path) };
}

function parse(text: string, path: string): AddressMark {
  const { next, checkBelow } = JSON.parse(text) as Partial<AddressMark>;
  if (!isIndex(next) || !isIndex(checkBelow)) throw new Error(`${path} is not a mark of leased addresses`);
  return { next, checkBelow };
}

const isIndex = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0;
