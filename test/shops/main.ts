/*
 * `npm run test:shops [-- medusa|woocommerce [part of a case]]`: real shops with their plugins, installed by the words
 * of their READMEs, beside a sandbox of their own. Each plays what the contract for shops (`docs/shops.md`) asks.
 */
import { rmSync } from 'node:fs';
import { startRunningSandbox } from '../support/running-sandbox.ts';
import { medusa } from './medusa.ts';
import type { Shop, ShopCase } from './shop.ts';
import { woocommerce } from './woocommerce.ts';

const SHOPS = [medusa, woocommerce];

async function hasPassed({ name, play }: ShopCase): Promise<boolean> {
  const begunMs = Date.now();
  const seconds = (): string => `${((Date.now() - begunMs) / 1000).toFixed(1)} s`;
  try {
    await play();
    console.log(`  ok      ${name} (${seconds()})`);
    return true;
  } catch (error) {
    console.log(`  FAILED  ${name} (${seconds()})\n${error instanceof Error ? error.stack : String(error)}`);
    return false;
  }
}

/** How many cases ran, and how many of them failed. */
async function play(shop: Shop, part: string): Promise<readonly [ran: number, failed: number]> {
  const sandbox = await startRunningSandbox();
  try {
    const started = await shop.start(sandbox);
    let [ran, failed] = [0, 0];
    try {
      for (const one of started.cases.filter(({ name }) => name.includes(part))) {
        ran += 1;
        if (!(await hasPassed(one))) failed += 1;
      }
    } finally {
      await started.stop();
    }
    return [ran, failed];
  } finally {
    await sandbox.stop();
    rmSync(sandbox.dataDir, { recursive: true, force: true });
  }
}

const [named, part = ''] = process.argv.slice(2);
const chosen = SHOPS.filter(({ name }) => named === undefined || name === named);
if (chosen.length === 0) throw new Error(`there is no shop ${named}: ${SHOPS.map(({ name }) => name).join(', ')}`);
const told: string[] = [];
for (const shop of chosen) {
  const missing = shop.missing();
  if (missing === null) {
    console.log(shop.name);
    const [ran, failed] = await play(shop, part);
    told.push(`${shop.name}: ${ran} cases played, ${failed} failed`);
    // A shop that plays nothing shows nothing.
    if (failed > 0 || ran === 0) process.exitCode = 1;
  } else {
    told.push(`${shop.name}: not played, ${missing}`);
    if (named !== undefined) process.exitCode = 1;
  }
}
console.log(told.join('\n'));
