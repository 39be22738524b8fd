/*
 * For a shop's own page: shows a payment page in a popup or in an inline frame and tells when it is over.
 *
 *   <script src="https://pay.example/pay/embed.js"></script>
 *   Quittance.popup(session.url, { onStatus })            // in a click handler
 *   Quittance.mount(element, session.url, { onStatus })   // answers { unmount }
 *
 * `onStatus` is called with { session_id, status, return_url }. The status is awaiting, underpaid, seen, closing, paid,
 * overpaid, refunded, reversed, expired, failed or cancelled. `return_url` is the session's `success_url` once it is paid and
 * before that its `cancel_url`; whether to go there is up to the shop's page. Both are hints for that page alone: goods are
 * handed over on the webhook or the API's word. The shop's domain must be registered with its merchant, and only messages
 * from the payment service's own origin count.
 */
'use strict';
(() => {
  const home = new URL(document.currentScript.src).origin;

  const framed = (sessionUrl) => {
    const url = new URL(sessionUrl);
    if (url.origin !== home || !/^\/pay\/\w+$/.test(url.pathname)) throw new TypeError('not a payment page of ' + home);
    url.pathname += '/embed';
    url.searchParams.set('origin', location.origin);
    return url.href;
  };
  const listen = (source, options, onSize) => {
    const heard = (event) => {
      if (event.origin !== home || event.source !== source()) return;
      const { type, version, session_id, status, return_url, height } = event.data ?? {};
      if (version !== 1) return;
      if (type === 'quittance.status') options.onStatus?.({ session_id, status, return_url });
      if (type === 'quittance.size') onSize?.(height);
    };
    addEventListener('message', heard);
    return () => removeEventListener('message', heard);
  };

  globalThis.Quittance = {
    /** Opens the payment page in a window of its own. Call it in a click handler, or the browser blocks it. */
    popup(sessionUrl, options = {}) {
      const opened = open(framed(sessionUrl), 'quittance', 'popup,width=480,height=780');
      if (!opened) throw new Error('the browser blocked the payment window');
      const stop = listen(() => opened, options);
      return {
        close() {
          stop();
          opened.close();
        },
      };
    },

    /** Shows the payment page inside the element. The frame grows with its content. */
    mount(element, sessionUrl, options = {}) {
      const frame = document.createElement('iframe');
      frame.src = framed(sessionUrl);
      frame.title = options.title ?? 'Payment';
      frame.allow = 'clipboard-write';
      frame.style.cssText = 'border:0;width:100%;height:780px';
      const stop = listen(
        () => frame.contentWindow,
        options,
        (height) => (frame.style.height = Math.max(200, Number(height) || 0) + 'px'),
      );
      element.append(frame);
      return {
        unmount() {
          stop();
          frame.remove();
        },
      };
    },
  };
})();
