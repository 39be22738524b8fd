import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { Browser, BrowserContextOptions } from 'playwright-core';
import { join, type AtConsole } from '../support/console-browser.ts';

const run = promisify(execFile);
const A_DAY_MS = 86_400_000;

export const cli = async <Answer>(...args: string[]): Promise<Answer> =>
  JSON.parse((await run(process.execPath, ['bin/quittance.mjs', ...args, '--json'])).stdout) as Answer;

/** A person with all roles at the console of the sandbox in DATA_DIR, and the merchant of that sandbox. */
export async function joinWithAllRoles(
  browser: Browser,
  options: BrowserContextOptions,
): Promise<AtConsole & { readonly merchant: string }> {
  const [merchant] = await cli<{ id: string }[]>('merchant', 'list');
  const tomorrow = new Date(Date.now() + A_DAY_MS).toISOString().slice(0, 10);
  const roles = `operator,finance,approver,merchant_admin:${merchant!.id},auditor@${tomorrow}`;
  const { link } = await cli<{ link: string }>('people', 'invite', `Everybody ${Date.now()}`, '--roles', roles);
  return { ...(await join(browser, link, options)), merchant: merchant!.id };
}
