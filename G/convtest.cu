#include <cstdio>
#include <cstdlib>
#include <cmath>
#include <vector>
#include <random>
#include <algorithm>
#include "lockstep/cuda/conv1d.h"
using namespace lockstep;
using bf=__nv_bfloat16;
#define CK(x) do{auto e=(x); if(e!=cudaSuccess){printf("CUDA %s at %d: %s\n",#x,__LINE__,cudaGetErrorString(e)); exit(1);} }while(0)
static float r16(float x){return __bfloat162float(__float2bfloat16(x));}
template<class T> T* up(const std::vector<T>&v){T*p;CK(cudaMalloc(&p,v.size()*sizeof(T)+64));CK(cudaMemcpy(p,v.data(),v.size()*sizeof(T),cudaMemcpyHostToDevice));return p;}
template<class T> T* room(size_t n){T*p;CK(cudaMalloc(&p,n*sizeof(T)+64));CK(cudaMemset(p,0xff,n*sizeof(T)));return p;}
template<class T> std::vector<T> down(const T*p,size_t n){std::vector<T> v(n);CK(cudaMemcpy(v.data(),p,n*sizeof(T),cudaMemcpyDeviceToHost));return v;}
static bool bad=false;
void rel(const char*what,const std::vector<double>&a,const std::vector<double>&b){double d=0,n=0;size_t nan=0;for(size_t i=0;i<a.size();++i){if(!(a[i]==a[i]))nan++;d+=(a[i]-b[i])*(a[i]-b[i]);n+=b[i]*b[i];}double e=std::sqrt(d/n);printf("   %-8s rel %.2e nan %zu n %zu%s\n",what,e,nan,a.size(),(e<6e-3&&!nan)?"":"  <<< BAD");if(!(e<6e-3)||nan)bad=true;}
void check(Conv1dSizes s){
  s.windows=(s.length+2*s.padding-s.taps+1)/s.pool;
  printf("in %d out %d taps %d pad %d pool %d len %d batch %d windows %d has %d\n",s.in,s.out,s.taps,s.padding,s.pool,s.length,s.batch,s.windows,has_tensor_core_kernel(s));
  std::mt19937 g(s.batch*7+s.taps);std::normal_distribution<float> nd;
  int L=s.length,W=s.windows,O=s.out,I=s.in,T=s.taps,I8=I==1?1:s.in8(),O8=s.out8(),B=s.batch;
  std::vector<float> x((size_t)B*L*I),w((size_t)O*I*T),bias(O);
  for(auto&v:x)v=r16(nd(g));for(auto&v:w)v=r16(nd(g)/std::sqrt((float)I*T));for(auto&v:bias)v=0.1f*nd(g);
  // x index [b][l][c]
  void*dx; if(I==1)dx=up(x); else{std::vector<bf> p((size_t)B*L*I8);for(size_t r=0;r<(size_t)B*L;++r)for(int c=0;c<I8;++c)p[r*I8+c]=__float2bfloat16(c<I?x[r*I+c]:NAN);dx=up(p);}
  float*dw=up(w),*db=up(bias);
  char*pk=room<char>(packed_bytes(s,false));
  pack_weights(s,dw,false,pk,0);
  bf*y=room<bf>((size_t)B*W*O8);uint8_t*wh=room<uint8_t>((size_t)B*W*O8);
  conv1d_forward(s,dx,pk,db,y,wh,0);CK(cudaDeviceSynchronize());
  auto hy=down(y,(size_t)B*W*O8);auto hw=down(wh,(size_t)B*W*O8);
  std::vector<double> got,want;size_t wherebad=0,padbad=0;
  std::vector<float> gy((size_t)B*W*O8,0.f);
  for(int b=0;b<B;++b)for(int wi=0;wi<W;++wi)for(int n=0;n<O8;++n){size_t at=((size_t)b*W+wi)*O8+n;
    if(n>=O){if(__bfloat162float(hy[at])!=0||hw[at]!=255)padbad++;continue;}
    double best=-1e30;double vals[8];
    for(int j=0;j<s.pool;++j){int p=wi*s.pool+j;double a=0;for(int t=0;t<T;++t){int q=p+t-s.padding;if(q<0||q>=L)continue;for(int c=0;c<I;++c)a+=(double)x[((size_t)b*L+q)*I+c]*w[((size_t)n*I+c)*T+t];}vals[j]=a;best=std::max(best,a);}
    double v=best+bias[n];if(v<0)v=0;got.push_back(__bfloat162float(hy[at]));want.push_back(v);
    if(hw[at]==255){if(best+bias[n]>1e-3)wherebad++;}else if(hw[at]>=s.pool||vals[hw[at]]<best-1e-3)wherebad++;
    gy[at]=r16(nd(g));}
  rel("forward",got,want);printf("   where bad %zu pad bad %zu\n",wherebad,padbad);if(wherebad||padbad)bad=true;
  std::vector<bf> gyb(gy.size());for(size_t i=0;i<gy.size();++i)gyb[i]=__float2bfloat16(gy[i]);
  bf*dgy=up(gyb);
  // weight
  float*rm=room<float>(room_floats(s));float*gw=room<float>((size_t)O*I*T),*gb=room<float>(O);
  conv1d_weight_gradient(s,dx,dgy,wh,gw,gb,rm,0);CK(cudaDeviceSynchronize());
  auto hgw=down(gw,(size_t)O*I*T);auto hgb=down(gb,O);
  std::vector<double> rw((size_t)O*I*T,0),rb(O,0),rx((size_t)B*L*I,0);
  for(int b=0;b<B;++b)for(int wi=0;wi<W;++wi)for(int n=0;n<O;++n){size_t at=((size_t)b*W+wi)*O8+n;if(hw[at]==255)continue;double gg=gy[at];rb[n]+=gg;int p=wi*s.pool+hw[at];
    for(int t=0;t<T;++t){int q=p+t-s.padding;if(q<0||q>=L)continue;for(int c=0;c<I;++c){rw[((size_t)n*I+c)*T+t]+=gg*x[((size_t)b*L+q)*I+c];rx[((size_t)b*L+q)*I+c]+=gg*w[((size_t)n*I+c)*T+t];}}}
  rel("weight",std::vector<double>(hgw.begin(),hgw.end()),rw);rel("bias",std::vector<double>(hgb.begin(),hgb.end()),rb);
  if(I>1){char*pf=room<char>(packed_bytes(s,true));pack_weights(s,dw,true,pf,0);bf*gx=room<bf>((size_t)B*L*I8);conv1d_data_gradient(s,dgy,wh,pf,gx,0);CK(cudaDeviceSynchronize());auto h=down(gx,(size_t)B*L*I8);std::vector<double> gg;for(size_t r=0;r<(size_t)B*L;++r)for(int c=0;c<I;++c)gg.push_back(__bfloat162float(h[r*I8+c]));rel("data",gg,rx);}
}
template<class F> double ms(F f){for(int i=0;i<3;++i)f();cudaEvent_t a,b;cudaEventCreate(&a);cudaEventCreate(&b);cudaEventRecord(a);for(int i=0;i<10;++i)f();cudaEventRecord(b);CK(cudaDeviceSynchronize());float m;cudaEventElapsedTime(&m,a,b);return m/10;}
void timing(Conv1dSizes s){s.windows=(s.length+2*s.padding-s.taps+1)/s.pool;int B=s.batch,L=s.length,W=s.windows;
  size_t nx=(size_t)B*L*(s.in==1?2:s.in8());std::vector<bf> x(nx);std::mt19937 g(1);std::normal_distribution<float> nd;for(auto&v:x)v=__float2bfloat16(nd(g));
  std::vector<float> w((size_t)s.out*s.in*s.taps),bias(s.out,0.f);for(auto&v:w)v=nd(g)*0.05f;
  void*dx; if(s.in==1){std::vector<float> xf((size_t)B*L);for(auto&v:xf)v=nd(g);dx=up(xf);}else dx=up(x);
  float*dw=up(w),*db=up(bias);char*pk=room<char>(packed_bytes(s,false));bf*y=room<bf>((size_t)B*W*s.out8());uint8_t*wh=room<uint8_t>((size_t)B*W*s.out8());
  double tp=ms([&]{pack_weights(s,dw,false,pk,0);});
  double tf=ms([&]{conv1d_forward(s,dx,pk,db,y,wh,0);});
  float*rm=room<float>(room_floats(s));float*gw=room<float>((size_t)s.out*s.in*s.taps),*gb=room<float>(s.out);
  double tw=ms([&]{conv1d_weight_gradient(s,dx,y,wh,gw,gb,rm,0);});
  double td=0;if(s.in>1){char*pf=room<char>(packed_bytes(s,true));pack_weights(s,dw,true,pf,0);bf*gx=room<bf>((size_t)B*L*s.in8());td=ms([&]{conv1d_data_gradient(s,y,wh,pf,gx,0);});}
  double gf=2.0*s.out*s.in*s.taps*(double)W*s.pool*B*1e-12;
  printf("time in %d batch %d: pack %.4f fwd %.3f ms (%.0f TF/s) weight %.3f (%.0f) data %.3f (%.0f)\n",s.in,B,tp,tf,gf/tf*1e3,tw,gf/tw*1e3,td,td?gf/td*1e3:0);fflush(stdout);}
int main(int c,char**v){
  check({.batch=2,.in=1,.length=1500,.out=50,.taps=200,.padding=100,.pool=4});
  check({.batch=3,.in=50,.length=700,.out=30,.taps=100,.padding=50,.pool=3});
  check({.batch=2,.in=30,.length=1000,.out=10,.taps=50,.padding=25,.pool=5});
  check({.batch=1,.in=1,.length=301,.out=53,.taps=37,.padding=0,.pool=4});
  check({.batch=2,.in=49,.length=143,.out=25,.taps=7,.padding=3,.pool=3});
  check({.batch=2,.in=25,.length=219,.out=16,.taps=11,.padding=10,.pool=5});
  printf(bad?"CHECKS FAILED\n":"CHECKS PASSED\n");
  if(c>1)return bad;
  for(int B:{10,100,600}){timing({.batch=B,.in=1,.length=12000,.out=50,.taps=200,.padding=100,.pool=4});timing({.batch=B,.in=50,.length=3000,.out=30,.taps=100,.padding=50,.pool=3});timing({.batch=B,.in=30,.length=1000,.out=10,.taps=50,.padding=25,.pool=5});}
  return bad;}
