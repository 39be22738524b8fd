import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core';
import { axeScript } from './browser.ts';

/** A person at a browser of their own, with a passkey that the browser holds and that says yes. */
export interface AtConsole {
  readonly context: BrowserContext;
  readonly page: Page;
  readonly complaints: string[];
}

const REPORT_POLICY_VIOLATIONS =
  "document.addEventListener('securitypolicyviolation', (event) => console.error('CSP: ' + event.violatedDirective + ' ' + event.blockedURI))";

/** Opens the link of an invitation and registers a passkey. */
export async function join(browser: Browser, link: string, options: BrowserContextOptions = {}): Promise<AtConsole> {
  const context = await browser.newContext(options);
  const page = await context.newPage();
  const complaints: string[] = [];
  context.on('console', (message) => {
    if (message.type() === 'error') complaints.push(message.text());
  });
  context.on('weberror', (fault) => complaints.push(fault.error().message));
  await context.addInitScript(REPORT_POLICY_VIOLATIONS);
  await addAuthenticator(context, page);
  await page.goto(link);
  await page.getByRole('button', { name: 'Register a passkey' }).click();
  await page.waitForURL((url) => !url.pathname.startsWith('/join/'));
  return { context, page, complaints };
}

async function addAuthenticator(context: BrowserContext, page: Page): Promise<void> {
  const client = await context.newCDPSession(page);
  await client.send('WebAuthn.enable');
  const options = {
    protocol: 'ctap2',
    transport: 'internal',
    hasResidentKey: true,
    hasUserVerification: true,
    isUserVerified: true,
  } as const;
  await client.send('WebAuthn.addVirtualAuthenticator', { options: { ...options, automaticPresenceSimulation: true } });
}

/** What the terms page asks for. */
export async function signTerms(page: Page): Promise<string> {
  const terms = (await page.locator('[data-text]').allTextContents()).join('\n');
  await Promise.all([page.waitForNavigation(), page.getByRole('button', { name: 'Sign with your passkey' }).click()]);
  return terms;
}

/**
 * What axe finds wrong with the page, by all rules unless some are named. The session stays: with its end the browser
 * would forget the passkeys of the others.
 */
export async function axe(page: Page, rules: readonly string[] = []): Promise<string[]> {
  const client = await page.context().newCDPSession(page);
  const { result: loaded } = await client.send('Runtime.evaluate', { expression: 'typeof axe' });
  if (loaded.value === 'undefined') await client.send('Runtime.evaluate', { expression: axeScript() });
  const { result } = await client.send('Runtime.evaluate', {
    expression: `axe.run(${rules.length > 0 ? JSON.stringify({ runOnly: rules }) : ''}).then(({ violations }) => violations.map(({ id, nodes }) => id + ": " + nodes.map(({ html }) => html).join(" | ").slice(0, 300)))`,
    awaitPromise: true,
    returnByValue: true,
  });
  return result.value as string[];
}
