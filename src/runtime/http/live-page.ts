import { hash } from 'node:crypto';

/**
 * The parts that keep a page up to date: `policy` for its content security policy, `head` for its head, `notice` for
 * its body.
 */
export interface LivePage {
  readonly policy: string;
  readonly head: string;
  readonly notice: string;
}

/**
 * The page requests itself every few seconds and updates in place, which preserves reading position and focus, and
 * reports when no response comes. Without script the browser reloads it.
 */
export function livePage(seconds: number): LivePage {
  const script = `setInterval(async () => {
  const answer = await fetch(location.href, { cache: 'no-store' }).catch(() => null);
  const notice = document.getElementById('no-answer');
  if (!answer?.ok) return void (notice.hidden = false);
  const fresh = new DOMParser().parseFromString(await answer.text(), 'text/html');
  if (!getSelection().isCollapsed || fresh.body.innerHTML === document.body.innerHTML) return;
  const focused = document.activeElement?.id;
  document.title = fresh.title;
  document.body.replaceWith(fresh.body);
  if (focused) document.getElementById(focused)?.focus({ preventScroll: true });
}, ${seconds * 1000});`;
  return {
    policy: `script-src 'sha256-${hash('sha256', script, 'base64')}'; connect-src 'self'`,
    head: `<script>${script}</script>\n<noscript><meta http-equiv="refresh" content="${seconds}"></noscript>`,
    notice: '<p id="no-answer" role="alert" hidden><strong>No answer: what stands here is old.</strong></p>',
  };
}
