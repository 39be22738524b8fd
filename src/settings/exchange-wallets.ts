import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { InvalidConfig, type Config } from '../config.ts';
import { NETWORKS } from '../domain/networks/networks.ts';
import { withExchangeWallets, type ExchangeWallets } from '../features/deposits/exchange-wallets.ts';
import { messageOf } from '../runtime/util/message-of.ts';

const fileSchema = z.partialRecord(z.enum(NETWORKS), z.record(z.string().min(1), z.string().min(1).max(64)));

/** The built-in list with the operator's additions, and with a test wallet's. Throws `InvalidConfig`. */
export function exchangeWallets(
  { EXCHANGE_WALLETS_FILE: file }: Pick<Config, 'EXCHANGE_WALLETS_FILE'>,
  test: ExchangeWallets = {},
): ExchangeWallets {
  if (file === undefined) return withExchangeWallets(test);
  const own = fileSchema.safeParse(contentOf(file));
  if (own.success)
    return withExchangeWallets(
      Object.fromEntries(NETWORKS.map((network) => [network, { ...test[network], ...own.data[network] }])),
    );
  const faults = own.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`).join('; ');
  throw new InvalidConfig(
    `EXCHANGE_WALLETS_FILE: ${file} must hold names of exchanges by address by network (${faults})`,
  );
}

function contentOf(file: string): unknown {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch (error) {
    throw new InvalidConfig(`EXCHANGE_WALLETS_FILE: ${file} cannot be read as JSON (${messageOf(error)})`);
  }
}
