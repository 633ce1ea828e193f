import re
def sub(p,*rs):
    s=open(p).read()
    for a,b in rs:
        pat=r'\s+'.join(re.escape(w) for w in a.split())
        m=re.search(pat,s)
        if not m: print('MISSING',p,repr(a[:80])); continue
        s=s[:m.start()]+b.strip()+s[m.end():]
    open(p,'w').write(s)
