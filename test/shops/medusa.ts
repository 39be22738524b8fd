import { commandLine } from '../books/check-books.ts';
import { CASES_PRICES, casesIn } from './medusa/cases.ts';
import { readmeBlock } from './medusa/install.ts';
import { startMedusaShop } from './medusa/medusa-shop.ts';
import { postgresPrograms } from './medusa/postgres.ts';
import { World } from './medusa/world.ts';
import type { Shop } from './shop.ts';

/** A Medusa from npm in a folder of its own, with Debian's PostgreSQL. */
export const medusa: Shop = {
  name: 'medusa',
  missing: () => (postgresPrograms() === null ? "Debian's postgresql is not installed" : null),
  async start(sandbox) {
    const shop = await startMedusaShop(sandbox);
    try {
      const world = new World(shop, sandbox);
      await world.furnish(CASES_PRICES);
      const [, ...words] = readmeBlock('sh', 'quittance webhook set').trim().split(/\s+/).slice(1);
      await commandLine(sandbox.dataDir)(
        ...words.map((word) =>
          word.replace('mer_...', sandbox.facts.merchant.id).replace('https://shop.example', shop.url),
        ),
      );
      return { cases: casesIn(world), stop: () => shop.stop() };
    } catch (error) {
      await shop.stop();
      throw error;
    }
  },
};
